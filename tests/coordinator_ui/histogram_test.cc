#include "common/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace fetchbench {
namespace {

// The value of rank ceil(q * n), by sorting.
int64_t ExactQuantile(std::vector<int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const double rank = std::max(1.0, std::ceil(q * static_cast<double>(values.size())));
  return values[static_cast<size_t>(rank) - 1];
}

// Durations in microseconds as a run has them: lognormal, over five decades.
std::vector<int64_t> RandomDurations(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> distribution(11.0, 2.0);
  std::vector<int64_t> values(n);
  for (int64_t& value : values) value = static_cast<int64_t>(distribution(random));
  return values;
}

TEST(HistogramTest, EmptyOneGivesZeros) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.Quantile(0.5), 0);
  EXPECT_EQ(h.min(), 0);
  EXPECT_EQ(h.max(), 0);
  EXPECT_EQ(h.Mean(), 0);
}

TEST(HistogramTest, QuantilesAreWithinTheStatedErrorOfTheSortedValues) {
  for (const size_t n : {1U, 2U, 3U, 10U, 1'000U, 50'000U}) {
    const std::vector<int64_t> values = RandomDurations(n, static_cast<unsigned>(n));
    Histogram h;
    for (const int64_t value : values) h.Add(value);
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
      const auto exact = static_cast<double>(ExactQuantile(values, q));
      EXPECT_NEAR(static_cast<double>(h.Quantile(q)), exact, exact * Histogram::kRelativeError)
          << "n " << n << ", q " << q;
    }
  }
}

TEST(HistogramTest, CountSumMinAndMaxAreExact) {
  const std::vector<int64_t> values = RandomDurations(10'000, 7);
  Histogram h;
  double sum = 0;
  for (const int64_t value : values) {
    h.Add(value);
    sum += static_cast<double>(value);
  }
  EXPECT_EQ(h.count(), values.size());
  EXPECT_EQ(h.sum(), sum);
  EXPECT_EQ(h.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.max(), *std::max_element(values.begin(), values.end()));
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram h;
  for (int64_t value = 0; value < 256; ++value) h.Add(value);
  for (int64_t value = 0; value < 256; ++value) {
    EXPECT_EQ(h.Quantile(static_cast<double>(value + 1) / 256), value);
  }
}

TEST(HistogramTest, MergingGivesTheSameAsAddingToOne) {
  const std::vector<int64_t> values = RandomDurations(5'000, 9);
  Histogram one;
  Histogram left;
  Histogram right;
  for (size_t i = 0; i < values.size(); ++i) {
    one.Add(values[i]);
    (i % 3 == 0 ? left : right).Add(values[i]);
  }
  left.Merge(right);
  left.Merge(Histogram());
  EXPECT_EQ(left.count(), one.count());
  EXPECT_EQ(left.sum(), one.sum());
  EXPECT_EQ(left.min(), one.min());
  EXPECT_EQ(left.max(), one.max());
  for (int i = 0; i <= 100; ++i) EXPECT_EQ(left.Quantile(i / 100.0), one.Quantile(i / 100.0));
}

TEST(HistogramTest, CountsTheValuesUpToABound) {
  Histogram h;
  EXPECT_EQ(h.CountUpTo(1'000), 0);
  for (const int64_t value : {0, 7, 200, 5'000, 1'000'000}) h.Add(value);
  EXPECT_EQ(h.CountUpTo(-1), 0);
  EXPECT_EQ(h.CountUpTo(0), 1);
  EXPECT_EQ(h.CountUpTo(6), 1);
  EXPECT_EQ(h.CountUpTo(7), 2);
  EXPECT_EQ(h.CountUpTo(4'900), 3);
  EXPECT_EQ(h.CountUpTo(5'100), 4);
  EXPECT_EQ(h.CountUpTo(999'999), 4);
  EXPECT_EQ(h.CountUpTo(1'000'000), 5);
  EXPECT_EQ(h.CountUpTo(std::numeric_limits<int64_t>::max()), 5);
}

TEST(HistogramTest, ExtremeValuesAndQuantilesStayInRange) {
  Histogram h;
  h.Add(-5);
  h.Add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(h.min(), 0);
  EXPECT_EQ(h.max(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(h.Quantile(-1), 0);
  EXPECT_EQ(h.Quantile(2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(h.Quantile(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_LE(h.Quantile(0.99), h.max());
}

}  // namespace
}  // namespace fetchbench
