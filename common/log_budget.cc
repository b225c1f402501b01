#include "common/log_budget.h"

#include <fmt/format.h>

#include <utility>

namespace fetchbench {

std::optional<std::string> LogBudget::Allow(std::string_view kind, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  auto found = tallies_.find(kind);
  if (found == tallies_.end()) found = tallies_.emplace(kind, Tally{.begin = now}).first;
  Tally& tally = found->second;
  if (now - tally.begin >= kPeriod) {
    tally.begin = now;
    tally.allowed = 0;
  }
  if (tally.allowed == kLines) {
    ++tally.left_out;
    return std::nullopt;
  }
  ++tally.allowed;
  const uint64_t left_out = std::exchange(tally.left_out, 0);
  if (left_out == 0) return "";
  return fmt::format(" ({} line{} like this {} left out before)", left_out,
                     left_out == 1 ? "" : "s", left_out == 1 ? "was" : "were");
}

}  // namespace fetchbench
