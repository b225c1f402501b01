#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/prepare/image_courier.h"
#include "coordinator/prepare/image_plan.h"
#include "coordinator/prepare/prepare_call.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// The image that the agents of one architecture have.
struct FleetImage {
  std::string id;
  std::vector<ImageSighting> holders;
  // Null: none of them was sent it. Else kept on this machine's disk until the run ends, for agents
  // that come late: those that are at work then hand nothing out. So a run takes up to
  // docker::kMaxImageBytes for each architecture.
  std::shared_ptr<const ImageArchive> archive;
};

struct FleetPrepared {
  // In the order of the endpoints. Unavailable: the agent could not be reached.
  std::vector<absl::StatusOr<v1::TargetFacts>> agents;
  // By architecture, as HostFacts names it. None: the target runs in no container.
  std::map<std::string, FleetImage> images;
  // FailedPrecondition: two that are ready, of one architecture, have different images; names both.
  absl::Status one_image;
};

// Which image of the target an agent has: that of an earlier session of the run, if it is there.
// `call` outlives it.
Task<absl::StatusOr<ImageSighting>> LookForImage(const FleetCall& call, size_t agent);

// Makes the target ready on all agents at once. An image is built by one agent of each
// architecture, unless one has it, and goes from there to those that lack it. `call` outlives it.
Task<FleetPrepared> PrepareFleet(const FleetCall& call);

}  // namespace fetchbench::coordinator
