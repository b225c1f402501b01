#include "coordinator/ui/rate_meter.h"

namespace fetchbench::coordinator {

void RateMeter::Sample(SteadyTime now, uint64_t counter) {
  // The newest point moves with every sample until it is a step away from the one before it.
  if (points_.size() >= 2 && now - points_[points_.size() - 2].at < kStep) {
    points_.back() = {now, counter};
  } else {
    points_.push_back({now, counter});
  }
  // One point at or before the window's start is kept, so that the whole window is covered.
  while (points_.size() > 2 && now - points_[1].at >= kWindow) points_.pop_front();
}

double RateMeter::PerSecond() const {
  if (points_.size() < 2) return 0;
  const std::chrono::duration<double> span = points_.back().at - points_.front().at;
  if (span.count() <= 0 || points_.back().counter < points_.front().counter) return 0;
  return static_cast<double>(points_.back().counter - points_.front().counter) / span.count();
}

}  // namespace fetchbench::coordinator
