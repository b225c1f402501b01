#pragma once

#include <vector>

#include "coordinator/cli/exit_code.h"
#include "coordinator/fleet/agent_endpoint.h"

namespace fetchbench::coordinator {

// `coordinator agents`: asks every agent what it is, in parallel, and prints a table. kIncomplete
// when one could not be reached.
ExitCode ListAgents(const std::vector<AgentEndpoint>& endpoints);

// `coordinator cancel`: takes over the run that each agent is busy with and ends it. kIncomplete
// when one could not be reached or freed.
ExitCode CancelRuns(const std::vector<AgentEndpoint>& endpoints);

}  // namespace fetchbench::coordinator
