#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

inline constexpr size_t kMaxRunIdBytes = 256;
// Batches are counted in 63 bits everywhere.
inline constexpr uint64_t kMaxSeq = std::numeric_limits<int64_t>::max() / 2;
// A coordinator cannot keep an agent to itself for longer than this without being there.
inline constexpr std::chrono::hours kLongestOrphanTimeout{7 * 24};

// InvalidArgument names what of a Start cannot be. The target aside. Pure.
absl::Status CheckStart(const v1::Start& start);

}  // namespace fetchbench::agent
