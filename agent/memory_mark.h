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
  kGiveUp,   // there is no run either, and still it is: only a new process can have less
  kLetIn,    // there is room again
};

// How long is waited for the memory to fall; tests shorten it.
struct MemoryPatience {
  // From the hanging up on: for what belonged to connections.
  std::chrono::milliseconds connections{3'000};
  // From the dropping of the run on: a target needs seconds to end. Nobody is let in meanwhile, and
  // nobody ever would be without this end.
  std::chrono::milliseconds run{60'000};
};

// Decides that, from one look at the memory after the other. Pure; one thread.
class MemoryMark {
 public:
  static constexpr std::chrono::milliseconds kTrimInterval{250};

  explicit MemoryMark(uint64_t limit_bytes, MemoryPatience patience = {})
      : limit_(limit_bytes), patience_(patience) {}

  MemoryStep Next(uint64_t bytes, SteadyTime now) {
    if (!over_) return bytes > limit_ ? Begin(now) : MemoryStep::kNothing;
    if (bytes < limit_ - limit_ / 4) {
      over_ = false;
      return MemoryStep::kLetIn;
    }
    if (!dropped_ && now - since_ >= patience_.connections) {
      dropped_ = true;
      since_ = now;
      return MemoryStep::kDropRun;
    }
    if (dropped_ && !given_up_ && now - since_ >= patience_.run) {
      given_up_ = true;
      return MemoryStep::kGiveUp;
    }
    if (now - trimmed_ < kTrimInterval) return MemoryStep::kNothing;
    trimmed_ = now;
    return MemoryStep::kTrim;
  }

  uint64_t limit() const { return limit_; }
  const MemoryPatience& patience() const { return patience_; }

 private:
  MemoryStep Begin(SteadyTime now) {
    over_ = true;
    dropped_ = false;
    given_up_ = false;
    since_ = trimmed_ = now;
    return MemoryStep::kHangUp;
  }

  const uint64_t limit_;
  const MemoryPatience patience_;
  bool over_ = false;
  bool dropped_ = false;
  bool given_up_ = false;
  SteadyTime since_;  // the last of these
  SteadyTime trimmed_;
};

}  // namespace fetchbench::agent
