#pragma once

#include <algorithm>
#include <cstdint>

#include "common/clock.h"

namespace fetchbench::agent {

// How many records a second the target gives, smoothed over about half a second. Pure.
class RateMeter {
 public:
  void Update(uint64_t total, SteadyTime now) {
    if (last_ == SteadyTime{}) last_ = now;
    const double seconds = std::chrono::duration<double>(now - last_).count();
    if (seconds < kStepSeconds) return;
    const double rate = static_cast<double>(total - last_total_) / seconds;
    const double weight = std::min(1.0, seconds / kSmoothSeconds);
    per_second_ += (rate - per_second_) * weight;
    last_ = now;
    last_total_ = total;
  }

  double per_second() const { return per_second_; }

 private:
  static constexpr double kStepSeconds = 0.02;
  static constexpr double kSmoothSeconds = 0.5;
  SteadyTime last_{};
  uint64_t last_total_ = 0;
  double per_second_ = 0;
};

// What is granted at once. `bytes`: see Credit.bytes.
struct CreditGrant {
  uint32_t urls = 0;
  uint64_t bytes = 0;
};

// How many URLs an agent holds: what is in flight plus a buffer that bridges the way to the
// coordinator and back. The buffer follows the target's own rate, so a fast agent does more and a
// stalled one holds little.
//
//   window     = concurrency + clamp(rate * 0.5 s, max(concurrency, 64), 65536)   URLs held in all
//   feed limit = concurrency + clamp(rate * 0.1 s, 64, 16384)                     of them, given to
//   the target
//
// Long URLs are bounded by what they come to as well (UrlCost), or those that a large window admits
// would be more than the agent's memory.
struct CreditPolicy {
  static constexpr double kWindowSeconds = 0.5;
  static constexpr double kFeedSeconds = 0.1;
  static constexpr uint32_t kLeastBuffer = 64;
  static constexpr uint32_t kMostBuffer = 65'536;
  static constexpr uint32_t kMostFedAhead = 16'384;
  static constexpr uint64_t kByteSteps = 16;  // each is longer than any URL

  uint32_t concurrency = 1;
  uint64_t max_bytes = 0;  // of the URLs held in all; 0: not bounded

  uint32_t Window(double rate) const {
    const uint32_t least = std::min(std::max(concurrency, kLeastBuffer), kMostBuffer);
    return concurrency + Clamp(rate * kWindowSeconds, least, kMostBuffer);
  }

  uint32_t FeedLimit(double rate) const {
    return concurrency + Clamp(rate * kFeedSeconds, kLeastBuffer, kMostFedAhead);
  }

  // What to grant now: nothing until a quarter of the window is free, so that credit goes in few
  // messages.
  uint32_t Grant(double rate, uint64_t held, uint64_t outstanding) const {
    const uint64_t window = Window(rate);
    const uint64_t used = held + outstanding;
    if (used >= window || (window - used) * 4 < window) return 0;
    return static_cast<uint32_t>(window - used);
  }

  // The same in bytes, in smaller steps: what waits for one is missing in flight, as there is no
  // buffer beside it. `outstanding` is below 0 when more came than was granted.
  uint64_t GrantBytes(uint64_t held, int64_t outstanding) const {
    const int64_t room = RoomFor(held, outstanding);
    return room <= 0 || static_cast<uint64_t>(room) * kByteSteps < max_bytes
               ? 0
               : static_cast<uint64_t>(room);
  }

 private:
  int64_t RoomFor(uint64_t held, int64_t outstanding) const {
    return static_cast<int64_t>(max_bytes) - static_cast<int64_t>(held) - outstanding;
  }

  static uint32_t Clamp(double value, uint32_t low, uint32_t high) {
    return static_cast<uint32_t>(
        std::clamp(value, static_cast<double>(low), static_cast<double>(high)));
  }
};

}  // namespace fetchbench::agent
