#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::agent {

// What --listen says. Pure.
struct ListenAddress {
  std::string host;         // TCP; empty for a Unix socket
  int port = 0;             // 0: one that is free
  std::string socket_path;  // Unix socket; empty for TCP

  std::string Text() const;  // as --listen takes it
};
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Makes the folder of a socket, mode 0700, or checks the one that is there: a directory of this
// user that nobody else may enter. Refuses a socket on which somebody answers.
absl::Status PrepareSocketFolder(const std::string& socket_path);

}  // namespace fetchbench::agent
