#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "coordinator/run/cancel_run.h"

namespace fetchbench::coordinator {

// What is said of agents that are not free. All pure.

// The run because of which an agent refused; empty: it did not, or for another reason.
std::string BusyWith(const absl::Status& refused);

// What a person types to end what these agents do: `coordinator cancel ...`. `credentials`: the
// folder that --credentials named; empty: none.
std::string CancelCommand(const std::vector<AgentEndpoint>& agents, const std::string& credentials);

// Of agents that are busy with other runs: the commands that end these or go on with them, a line
// each. `busy` is not empty.
std::vector<std::string> HowToFree(const std::vector<BusyAgent>& busy,
                                   const std::string& credentials);

// Of agents that were told to do this run and gave no last word of it.
std::string LeftBusyInWords(const std::vector<AgentEndpoint>& agents,
                            const std::string& credentials);

}  // namespace fetchbench::coordinator
