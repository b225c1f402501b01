#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/net.h"
#include "coordinator/fleet/agent_endpoint.h"

namespace fetchbench::coordinator {

// Agents asked from outside of a run.

struct BusyAgent {
  AgentEndpoint endpoint;
  std::string run_id;
};

// Takes over the runs that these agents are busy with, all at once, ends them, and lets go of what
// they still send. How it went, in their order; it takes no longer for many of them than for one,
// and some seconds at most. Blocks.
std::vector<absl::Status> EndRuns(const std::vector<BusyAgent>& agents);

// What agents know session `number` (1, 2 ...) of a run by. A run that is resumed is another one to
// them: no batch of the earlier session can be taken for one of the later.
std::string SessionId(const std::string& run_id, uint32_t number);
bool IsSessionOf(std::string_view session_id, std::string_view run_id);
std::string RunOfSession(std::string_view session_id);

struct ReleaseLimits {
  std::chrono::milliseconds answer;  // how long the agent may take to say what it is busy with
  // How long it may be starting the run's target for a coordinator that is gone. It lets go of the
  // run when the target is there: an Engine under load takes its time.
  std::chrono::milliseconds starting{std::chrono::seconds(60)};
};

// Ends what an earlier session of this run left at the agent; OK also when there was nothing.
// ResourceExhausted: it is busy with another run. Unavailable: it is out of reach, or still
// starting the target. Records that the agent had not handed in are dropped: their URLs are fetched
// again. `stopped` is looked at often; once it is true, what is open ends as Cancelled.
Task<absl::Status> ReleaseFromRun(net::any_io_executor loop, AgentEndpoint endpoint,
                                  std::string run_id, ReleaseLimits limits,
                                  std::function<bool()> stopped);

}  // namespace fetchbench::coordinator
