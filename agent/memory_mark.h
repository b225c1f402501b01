#pragma once

#include <chrono>
#include <cstdint>

#include "common/clock.h"

namespace fetchbench::agent {

// What is to be done about the daemon's memory.
enum class MemoryStep {
  kNothing,
  kHangUp,   // on everybody, and let nobody in
  kTrim,     // give free memory back to the system
  kDropRun,  // nobody is connected, and still it is too much: the run has it
  kLetIn,    // there is room again
};

// Decides that, from one look at the memory after the other. Pure; one thread.
class MemoryMark {
 public:
  // From the hanging up on: how long what belonged to connections may take to be freed.
  static constexpr std::chrono::seconds kPatience{3};
  static constexpr std::chrono::milliseconds kTrimInterval{250};

  explicit MemoryMark(uint64_t limit_bytes) : limit_(limit_bytes) {}

  MemoryStep Next(uint64_t bytes, SteadyTime now) {
    if (!over_) return bytes > limit_ ? Begin(now) : MemoryStep::kNothing;
    if (bytes < limit_ - limit_ / 4) {
      over_ = false;
      return MemoryStep::kLetIn;
    }
    if (!dropped_ && now - since_ >= kPatience) {
      dropped_ = true;
      return MemoryStep::kDropRun;
    }
    if (now - trimmed_ < kTrimInterval) return MemoryStep::kNothing;
    trimmed_ = now;
    return MemoryStep::kTrim;
  }

  uint64_t limit() const { return limit_; }

 private:
  MemoryStep Begin(SteadyTime now) {
    over_ = true;
    dropped_ = false;
    since_ = trimmed_ = now;
    return MemoryStep::kHangUp;
  }

  const uint64_t limit_;
  bool over_ = false;
  bool dropped_ = false;
  SteadyTime since_;
  SteadyTime trimmed_;
};

}  // namespace fetchbench::agent
