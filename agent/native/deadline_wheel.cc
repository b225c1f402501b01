#include "agent/native/deadline_wheel.h"

#include <algorithm>

namespace fetchbench::native {

uint64_t DeadlineWheel::TickOf(SteadyTime t) const {
  return t <= origin_ ? 0 : static_cast<uint64_t>((t - origin_) / kTick);
}

void DeadlineWheel::Arm(WheelTimer& timer, SteadyTime when) {
  if (timer.is_linked()) timer.unlink();
  // Rounded up: a deadline never fires early.
  timer.tick_ = std::max(TickOf(when) + 1, current_);
  slots_[timer.tick_ % kSlots].push_back(timer);
}

void DeadlineWheel::Advance(SteadyTime now) {
  const uint64_t end = TickOf(now) + 1;
  // After a pause longer than one turn every slot is visited once, which is all there is.
  const uint64_t begin = std::max(current_, end > kSlots ? end - kSlots : 0);
  if (end <= current_) return;
  current_ = end;
  List due;
  for (uint64_t tick = begin; tick < end; ++tick) {
    List& slot = slots_[tick % kSlots];
    for (auto it = slot.begin(); it != slot.end();) {
      WheelTimer& timer = *it++;
      if (timer.tick_ >= end) continue;
      timer.unlink();
      due.push_back(timer);
    }
  }
  while (!due.empty()) {
    WheelTimer& timer = due.front();
    timer.unlink();
    timer.OnTimer();
  }
}

}  // namespace fetchbench::native
