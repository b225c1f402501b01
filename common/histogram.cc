#include "common/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace fetchbench {

int Histogram::BucketOf(uint64_t value) {
  const int bits = static_cast<int>(std::bit_width(value));
  const int exponent = std::max(0, bits - (kSubBucketBits + 1));
  return (exponent << kSubBucketBits) + static_cast<int>(value >> exponent);
}

uint64_t Histogram::MiddleOf(int bucket) {
  const int exponent = std::max(0, (bucket >> kSubBucketBits) - 1);
  const auto low = static_cast<uint64_t>(bucket - (exponent << kSubBucketBits)) << exponent;
  return low + ((uint64_t{1} << exponent) >> 1);
}

void Histogram::Add(int64_t value) {
  value = std::max<int64_t>(value, 0);
  const auto bucket = static_cast<size_t>(BucketOf(static_cast<uint64_t>(value)));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  ++count_;
  sum_ += static_cast<double>(value);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

int64_t Histogram::Quantile(double q) const {
  if (count_ == 0) return 0;
  if (!(q > 0)) return min_;
  if (q >= 1) return max_;
  const double exact_rank = std::ceil(q * static_cast<double>(count_));
  const auto rank = std::clamp<uint64_t>(static_cast<uint64_t>(exact_rank), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) {
      return std::clamp(static_cast<int64_t>(MiddleOf(static_cast<int>(i))), min_, max_);
    }
  }
  return max_;
}

uint64_t Histogram::CountUpTo(int64_t value) const {
  if (value >= max_) return count_;
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (static_cast<int64_t>(MiddleOf(static_cast<int>(i))) > value) break;
    seen += buckets_[i];
  }
  return seen;
}

}  // namespace fetchbench
