#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/process/fork_exec.h"
#include "common/docker/body_source.h"
#include "common/docker/sha256.h"

namespace fetchbench::agent {

// A build context on its way in: gathered in a temporary file that has no name, so nothing is left
// behind however this ends. Bounded by docker::kMaxContextBytes.
class ContextFile {
 public:
  // `bytes`: as announced.
  static absl::StatusOr<ContextFile> Open(uint64_t bytes);

  // ResourceExhausted: more than announced.
  absl::Status Append(std::string_view bytes);
  // The whole of it. DataLoss: not what `sha256` (hex) says.
  absl::StatusOr<docker::BodySource> Close(const std::string& sha256);

 private:
  Fd file_;
  docker::Sha256 hash_;
  uint64_t left_ = 0;
};

}  // namespace fetchbench::agent
