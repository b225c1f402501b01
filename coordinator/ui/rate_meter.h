#pragma once

#include <cstdint>
#include <deque>

#include "common/clock.h"

namespace fetchbench::coordinator {

// How fast a counter grows now: over the last kWindow, or since the first sample when that is less.
// Not thread-safe; one for records, one for bytes, one for each agent.
class RateMeter {
 public:
  static constexpr std::chrono::milliseconds kWindow{3000};
  static constexpr std::chrono::milliseconds kStep{100};  // samples closer than this are merged

  void Sample(SteadyTime now, uint64_t counter);
  double PerSecond() const;  // 0 with fewer than two samples

 private:
  struct Point {
    SteadyTime at;
    uint64_t counter;
  };
  std::deque<Point> points_;  // at most kWindow / kStep + 2
};

}  // namespace fetchbench::coordinator
