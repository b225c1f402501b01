#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fetchbench::coordinator {

// Wall time in which the coordinator was down and nothing of a run went on. UTC, microseconds since
// the Unix epoch.
struct Pause {
  int64_t from_us = 0;
  int64_t until_us = 0;

  int64_t Length() const { return std::max<int64_t>(until_us - from_us, 0); }
};

// The pauses of a run, in order. Leaves them out of times. Pure.
class Pauses {
 public:
  Pauses() = default;
  explicit Pauses(std::vector<Pause> pauses) : pauses_(std::move(pauses)) {}

  // Not before those that are there.
  void Add(Pause pause) { pauses_.push_back(pause); }

  // How late it was at `wall_us`, had there been no pauses: one within a pause is moved to its
  // beginning.
  int64_t LeaveOut(int64_t wall_us) const {
    int64_t left_out = 0;
    for (const Pause& p : pauses_) {
      left_out += std::clamp<int64_t>(wall_us - p.from_us, 0, p.Length());
    }
    return wall_us - left_out;
  }

  int64_t Total() const {
    int64_t total = 0;
    for (const Pause& p : pauses_) total += p.Length();
    return total;
  }

 private:
  std::vector<Pause> pauses_;
};

}  // namespace fetchbench::coordinator
