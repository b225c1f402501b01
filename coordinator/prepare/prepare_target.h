#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/cli/options.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// What agents are asked to make ready: which target, and the archive of its folder for those that
// have no such image yet.
struct TargetPlan {
  v1::TargetSpec spec;
  std::shared_ptr<const std::string> context;  // null: nothing is built
};

// Reads and packs the target's folder, on a thread of its own. InvalidArgument and NotFound: the
// folder, a build argument or the file of base images is not as it should be.
Task<absl::StatusOr<TargetPlan>> PlanTarget(net::any_io_executor loop, const RunOptions& options);

}  // namespace fetchbench::coordinator
