#pragma once

#include <chrono>
#include <cstdint>

namespace fetchbench {

using SteadyTime = std::chrono::steady_clock::time_point;

// Time passed in, so that a test can hold it still. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() const = 0;
  virtual int64_t WallUs() const = 0;  // UTC, microseconds since the Unix epoch
};

class SystemClock final : public Clock {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  int64_t WallUs() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

// Wall times of one run: an anchor taken once plus a steady-clock delta, so that a step of the wall
// clock never shows up in a record. Immutable after construction.
class RunClock {
 public:
  explicit RunClock(const Clock& clock)
      : anchor_steady_(clock.Now()), anchor_wall_us_(clock.WallUs()) {}

  int64_t WallUsAt(SteadyTime t) const {
    return anchor_wall_us_ +
           std::chrono::duration_cast<std::chrono::microseconds>(t - anchor_steady_).count();
  }

 private:
  SteadyTime anchor_steady_;
  int64_t anchor_wall_us_;
};

}  // namespace fetchbench
