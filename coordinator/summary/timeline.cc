#include "coordinator/summary/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fetchbench::coordinator {
namespace {

// Keeps all arithmetic below away from the ends of int64_t, whatever a peer claims.
constexpr int64_t kFarthestUs = int64_t{1} << 61;

// Events arrive up to a timeout out of order: leave room before the first one.
constexpr int64_t kBinsBeforeFirst = Timeline::kBins / 8;

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

}  // namespace

void Timeline::Add(int64_t time_us) {
  time_us = std::clamp(time_us, -kFarthestUs, kFarthestUs);
  if (bins_.empty()) {
    bins_.resize(kBins);
    first_bin_ = FloorDivide(time_us, width_us_) - kBinsBeforeFirst;
  }
  int64_t bin = FloorDivide(time_us, width_us_) - first_bin_;
  while (bin < 0 || bin >= kBins) {
    Widen(bin < 0);
    bin = FloorDivide(time_us, width_us_) - first_bin_;
  }
  ++bins_[static_cast<size_t>(bin)];
  ++count_;
}

void Timeline::Widen(bool downwards) {
  // Bins are numbered from the epoch, so bin a becomes bin a / 2. The old ones take half of the new
  // range (one more when the first was odd): its upper half when the new event lies before them.
  const int64_t low = FloorDivide(first_bin_, 2);
  const int64_t new_first = downwards ? low + kBins / 2 + 1 - kBins : low;
  std::vector<uint64_t> wider(kBins);
  for (int64_t i = 0; i < kBins; ++i) {
    wider[static_cast<size_t>(FloorDivide(first_bin_ + i, 2) - new_first)] +=
        bins_[static_cast<size_t>(i)];
  }
  bins_ = std::move(wider);
  first_bin_ = new_first;
  width_us_ *= 2;
}

int64_t Timeline::TimeOf(double q) const {
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::clamp<uint64_t>(static_cast<uint64_t>(exact_rank), 1, count_);
  uint64_t seen = 0;
  for (int64_t i = 0; i < kBins; ++i) {
    seen += bins_[static_cast<size_t>(i)];
    if (seen >= rank) return (first_bin_ + i + 1) * width_us_;
  }
  return (first_bin_ + kBins) * width_us_;
}

}  // namespace fetchbench::coordinator
