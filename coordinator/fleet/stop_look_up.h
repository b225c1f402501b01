#pragma once

#include <chrono>

namespace fetchbench::coordinator {

// How often work that waits for something else looks whether the user gave up meanwhile.
inline constexpr std::chrono::milliseconds kStopLookUp{100};

}  // namespace fetchbench::coordinator
