#pragma once

#include <vector>

#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

// Limits of design "Measurement": beyond them a row is printed with a mark.
inline constexpr int64_t kMaxOriginLatenessP99Us = 5'000;
inline constexpr double kMaxOtherCpuBusy = 0.80;
inline constexpr double kMaxSteal = 0.01;
inline constexpr int64_t kMaxClockOffsetUs = 50'000;  // corrected, but worth knowing
inline constexpr double kMinConcurrencyShare = 0.95;

// Judges a summary (its `marks` are ignored); pure. Names, in this order: partial, incomplete,
// degraded, resumed, ledger_unbalanced, origin_gone, origin_late, other_cpu_busy, steal, stalled,
// clock_offset, concurrency_not_reached, origin_disagrees, surplus_lines, unparsable_lines,
// target_exit, no_2xx.
std::vector<Mark> FindMarks(const Summary& summary);

}  // namespace fetchbench::coordinator
