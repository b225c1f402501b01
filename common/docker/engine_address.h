#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fetchbench::docker {

inline constexpr std::string_view kDefaultSocket = "/var/run/docker.sock";

// The Engine's Unix socket for a value of DOCKER_HOST: kDefaultSocket for an empty one.
// InvalidArgument: an address of another kind than unix://. Pure.
absl::StatusOr<std::string> SocketPath(std::string_view docker_host);

// The same for this process's environment.
absl::StatusOr<std::string> SocketPathFromEnvironment();

}  // namespace fetchbench::docker
