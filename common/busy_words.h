#pragma once

#include <string_view>

namespace fetchbench {

// How an agent's refusal begins when it is busy; the run's id follows, and then nothing or a space.
// The coordinator knows by it what would free the agent.
inline constexpr std::string_view kBusyWithRun = "busy with run ";
inline constexpr std::string_view kBusyWithStartingRun = "busy with starting run ";

}  // namespace fetchbench
