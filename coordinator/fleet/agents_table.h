#pragma once

#include <string>
#include <vector>

#include "coordinator/fleet/describe_agents.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// What `coordinator agents` says of the agents, `described` in the order of `endpoints`. All pure.

// Tables as wide as the terminal, and who is free, busy and out of reach in sum.
std::string AgentsText(const std::vector<AgentEndpoint>& endpoints,
                       const std::vector<Described>& described, const TextStyle& style);

// One line an agent, with everything in it: for files and scripts that read lines.
std::string AgentsLines(const std::vector<AgentEndpoint>& endpoints,
                        const std::vector<Described>& described);

// An array with an object for each agent; times in microseconds since the Unix epoch where a name
// ends in _us, and null what is not known.
std::string AgentsJson(const std::vector<AgentEndpoint>& endpoints,
                       const std::vector<Described>& described);

// "free", "busy with run R since T", or "not reachable: why".
std::string AgentStateText(const Described& described);

}  // namespace fetchbench::coordinator
