#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// Agents asked from outside of a run. All block, and need no loop.

// Errors: why the agent cannot be reached.
absl::StatusOr<v1::DescribeResponse> DescribeAgent(const AgentEndpoint& endpoint,
                                                   std::chrono::milliseconds limit);

// Takes the run over that the agent is busy with, ends it, and lets go of what it still sends.
absl::Status CancelRun(const AgentEndpoint& endpoint, const std::string& run_id);

// What agents know session `number` (1, 2 ...) of a run by. A run that is resumed is another one to
// them: no batch of the earlier session can be taken for one of the later.
std::string SessionId(const std::string& run_id, uint32_t number);
bool IsSessionOf(std::string_view session_id, std::string_view run_id);

// Ends what an earlier session of this run left at the agent; OK also when there was nothing.
// ResourceExhausted: it is busy with another run. Records that the agent had not handed in are
// dropped: their URLs are fetched again.
absl::Status ReleaseFromRun(const AgentEndpoint& endpoint, const std::string& run_id,
                            std::chrono::milliseconds limit);

}  // namespace fetchbench::coordinator
