#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace fetchbench {

// For lines of the log that others can bring about as often as they like: of each kind it allows so
// many a minute, and counts the rest. There must be a bounded number of kinds, all of them of this
// program's making, because each is kept for good. Any thread.
class LogBudget {
 public:
  static constexpr uint64_t kLines = 20;
  static constexpr std::chrono::minutes kPeriod{1};

  // Whether a line of that kind may be logged now. If so, what to put at its end: nothing, or, with
  // a blank before it, how many were left out since the last one.
  std::optional<std::string> Allow(std::string_view kind, SteadyTime now);

 private:
  struct Tally {
    SteadyTime begin;
    uint64_t allowed = 0;  // since then
    uint64_t left_out = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Tally, std::less<>> tallies_;
};

}  // namespace fetchbench
