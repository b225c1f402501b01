#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fetchbench::origin {

// How late planned delays ended: a log-bucketed histogram of microseconds, at most 6.25 % wide a
// bucket, of fixed size. Values from 2^32 us on share the last bucket.
class Lateness {
 public:
  void Add(uint64_t us) {
    max_ = std::max(max_, us);
    ++count_;
    ++buckets_[BucketOf(us)];
  }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }

  // Upper end of the bucket that holds the quantile, but never above max(); 0 when empty.
  uint64_t Quantile(double q) const {
    if (count_ == 0) return 0;
    const auto rank = static_cast<uint64_t>(q * static_cast<double>(count_ - 1));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen > rank) return std::min(UpperEnd(i), max_);
    }
    return max_;
  }

 private:
  static constexpr int kSubBits = 4;
  static constexpr size_t kSub = size_t{1} << kSubBits;
  static constexpr int kMaxBits = 32;
  static constexpr size_t kBuckets = kSub * (kMaxBits - kSubBits + 1);

  // Values below kSub have a bucket each; every further power of two has kSub buckets.
  static size_t BucketOf(uint64_t us) {
    us = std::min(us, (uint64_t{1} << kMaxBits) - 1);
    if (us < kSub) return us;
    const int shift = static_cast<int>(std::bit_width(us)) - kSubBits - 1;
    return kSub * static_cast<size_t>(shift) + (us >> shift);
  }
  static uint64_t UpperEnd(size_t bucket) {
    if (bucket < 2 * kSub) return bucket;
    const size_t shift = bucket / kSub - 1;
    return ((bucket - kSub * shift + 1) << shift) - 1;
  }

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

}  // namespace fetchbench::origin
