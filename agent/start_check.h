#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

inline constexpr size_t kMaxRunIdBytes = 256;
// Batches are counted in 63 bits everywhere.
inline constexpr uint64_t kMaxSeq = std::numeric_limits<int64_t>::max() / 2;
// A coordinator cannot keep an agent to itself for longer than this without being there.
inline constexpr std::chrono::hours kLongestOrphanTimeout{7 * 24};

// Whether an agent of that version can take such a Start, the target aside. InvalidArgument names
// what of it cannot be; FailedPrecondition: it is of a coordinator of another version. Pure.
absl::Status CheckStart(const v1::Start& start, const std::string& version);

}  // namespace fetchbench::agent
