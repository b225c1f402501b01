#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/docker/engine_client.h"
#include "common/net.h"

namespace fetchbench::docker {

struct RemovedLeftovers {
  std::vector<std::string> containers;  // names
  std::vector<std::string> networks;
  std::vector<absl::Status> errors;  // of those that could not be removed
};

// Removes the containers and then the networks whose owner (kOwnerLabel) is gone. An error: the
// Engine cannot be asked.
Task<absl::StatusOr<RemovedLeftovers>> RemoveLeftovers(EngineClient client);

}  // namespace fetchbench::docker
