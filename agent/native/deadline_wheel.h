#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"

namespace fetchbench::native {

// Something that a wheel wakes once. Leaves its wheel when destroyed.
class WheelTimer : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  WheelTimer() = default;
  virtual ~WheelTimer() = default;
  WheelTimer(const WheelTimer&) = delete;
  WheelTimer& operator=(const WheelTimer&) = delete;

  virtual void OnTimer() = 0;

 private:
  friend class DeadlineWheel;
  uint64_t tick_ = 0;
};

// A hashed timer wheel: one per worker instead of one timer per socket, so that arming and
// disarming a deadline costs two pointer writes. A timer fires at most one tick late when Advance()
// is called every tick, and never early. Not thread-safe; time comes in from outside.
class DeadlineWheel {
 public:
  static constexpr std::chrono::milliseconds kTick{5};

  explicit DeadlineWheel(SteadyTime now) : origin_(now), slots_(kSlots) {}

  void Arm(WheelTimer& timer, SteadyTime when);  // again: moves it
  static void Disarm(WheelTimer& timer) {
    if (timer.is_linked()) timer.unlink();
  }

  // Fires everything that is due, in no particular order. A timer may arm and disarm others.
  void Advance(SteadyTime now);

 private:
  using List = boost::intrusive::list<WheelTimer, boost::intrusive::constant_time_size<false>>;
  static constexpr size_t kSlots = 2048;  // a little over ten seconds a turn

  uint64_t TickOf(SteadyTime t) const;

  SteadyTime origin_;
  uint64_t current_ = 0;  // every earlier tick has been fired
  std::vector<List> slots_;
};

}  // namespace fetchbench::native
