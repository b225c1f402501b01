#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/fleet/describe_agents.h"

namespace fetchbench::coordinator {

// One agent under two addresses: two sessions of a run would take it from each other. All pure.

// For each agent the first one before it that is the same process; empty: there is none, or it
// cannot be told, since an agent did not answer or does not say which process it is.
std::vector<std::optional<size_t>> FindSameAgents(const std::vector<Described>& described);

// OK when no two of them are the same. InvalidArgument names those that are, by both addresses.
absl::Status CheckDistinct(const std::vector<AgentEndpoint>& endpoints,
                           const std::vector<Described>& described);

// What is said of an agent that is the same as `first`, in words that follow its name.
std::string SameAgentText(const AgentEndpoint& first);

}  // namespace fetchbench::coordinator
