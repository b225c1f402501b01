#pragma once

#include <cstdint>
#include <vector>

namespace fetchbench {

// Counts of non-negative values in log-linear buckets, the scheme of HdrHistogram (Gil Tene,
// hdrhistogram.org): values below 256 have a bucket each; above, every power of two is cut into 128
// equal buckets. A quantile is the middle of a bucket, so it is off by at most 1/256 (0.4 %) of
// itself; count, sum, min and max are exact. Memory grows with the largest value seen and is
// bounded by kMaxBuckets (59 KiB), however many values there are. Not thread-safe.
class Histogram {
 public:
  static constexpr int kSubBucketBits = 7;  // 128 buckets for each power of two
  static constexpr int kMaxBuckets = (64 - kSubBucketBits + 1) << kSubBucketBits;
  static constexpr double kRelativeError = 1.0 / (2 << kSubBucketBits);

  // Negative values count as 0.
  void Add(int64_t value);
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return count_ == 0 ? 0 : max_; }
  double Mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

  // The value of rank ceil(q * count) in sorted order ("nearest rank"), within kRelativeError; q is
  // cut to 0..1, where 0 gives min() and 1 gives max(). 0 when empty.
  int64_t Quantile(double q) const;

  // How many values are at most `value`, which is off by kRelativeError at most.
  uint64_t CountUpTo(int64_t value) const;

 private:
  static int BucketOf(uint64_t value);
  static uint64_t MiddleOf(int bucket);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  double sum_ = 0;  // a double holds every sum below 2^53 us (285 years of waiting) exactly
  int64_t min_ = 0;
  int64_t max_ = 0;
};

}  // namespace fetchbench
