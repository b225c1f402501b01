#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

struct PrepareLimits {
  // For an agent that cannot be reached to come.
  std::chrono::milliseconds connect{5'000};
  // Without a word of an agent that is at work. A build's step may say nothing for long.
  std::chrono::milliseconds silence = std::chrono::minutes(20);
};

struct PrepareEvents {
  // What agent `i` says of its progress; a build's output line by line.
  std::function<void(size_t i, const v1::PrepareProgress& progress)> progress;
  std::function<bool()> stopped;  // give up: Cancelled
};

// All agents at once; the results in their order. Unavailable: the agent could not be reached.
Task<std::vector<absl::StatusOr<v1::TargetFacts>>> PrepareAll(net::any_io_executor loop,
                                                              std::vector<AgentEndpoint> endpoints,
                                                              TargetPlan plan, PrepareLimits limits,
                                                              PrepareEvents events);

}  // namespace fetchbench::coordinator
