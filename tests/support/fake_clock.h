#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/clock.h"

namespace fetchbench::test {

// Stands still until a test moves it. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(int64_t wall_us = 1'700'000'000'000'000) : wall_us_(wall_us) {}

  SteadyTime Now() const override {
    return SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(
        std::chrono::microseconds(1'000'000 + elapsed_us_.load())));
  }
  int64_t WallUs() const override { return wall_us_ + elapsed_us_.load(); }

  void Advance(std::chrono::microseconds step) { elapsed_us_ += step.count(); }
  // Somebody sets the wall clock; no time passes.
  void SetForward(std::chrono::microseconds step) { wall_us_ += step.count(); }

 private:
  std::atomic<int64_t> wall_us_;
  std::atomic<int64_t> elapsed_us_{0};
};

}  // namespace fetchbench::test
