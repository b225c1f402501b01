#include "common/docker/engine_address.h"

#include <fmt/format.h>

#include <cstdlib>

namespace fetchbench::docker {

absl::StatusOr<std::string> SocketPath(std::string_view docker_host) {
  constexpr std::string_view kScheme = "unix://";
  if (docker_host.empty()) return std::string(kDefaultSocket);
  if (docker_host.starts_with(kScheme) && docker_host.size() > kScheme.size()) {
    return std::string(docker_host.substr(kScheme.size()));
  }
  return absl::InvalidArgumentError(
      fmt::format("DOCKER_HOST is '{}': only a Unix socket is supported, as in unix://{}",
                  docker_host, kDefaultSocket));
}

absl::StatusOr<std::string> SocketPathFromEnvironment() {
  const char* value = std::getenv("DOCKER_HOST");
  return SocketPath(value == nullptr ? std::string_view() : std::string_view(value));
}

}  // namespace fetchbench::docker
