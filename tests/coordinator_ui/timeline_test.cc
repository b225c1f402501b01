#include "coordinator/summary/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace fetchbench::coordinator {
namespace {

constexpr int64_t kNow = 1'769'903'999'123'456;

int64_t ExactTime(std::vector<int64_t> times, double q) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(std::ceil(q * static_cast<double>(times.size()))) - 1];
}

TEST(TimelineTest, EmptyOneGivesZero) { EXPECT_EQ(Timeline().TimeOf(0.99), 0); }

TEST(TimelineTest, AShortRunIsExactToAMillisecond) {
  std::mt19937_64 random(1);
  std::vector<int64_t> times(20'000);
  Timeline timeline;
  for (size_t i = 0; i < times.size(); ++i) {
    times[i] = kNow + static_cast<int64_t>(i * 2'000 + random() % 5'000'000);
    timeline.Add(times[i]);
  }
  for (const double q : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const int64_t exact = ExactTime(times, q);
    EXPECT_GE(timeline.TimeOf(q), exact);
    EXPECT_LE(timeline.TimeOf(q), exact + Timeline::kFirstWidthUs) << q;
  }
}

// Hours instead of seconds, and the first event somewhere in the middle.
TEST(TimelineTest, ALongRunOutOfOrderIsExactToA4000thOfItsRange) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937_64 random(seed);
    constexpr int64_t kRange = 6LL * 3600 * 1'000'000;
    std::vector<int64_t> times(20'000);
    Timeline timeline;
    for (int64_t& time : times) {
      time = kNow + static_cast<int64_t>(random() % static_cast<uint64_t>(kRange));
      timeline.Add(time);
    }
    EXPECT_EQ(timeline.count(), times.size());
    for (const double q : {0.0001, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const int64_t exact = ExactTime(times, q);
      EXPECT_GE(timeline.TimeOf(q), exact);
      EXPECT_LE(timeline.TimeOf(q), exact + kRange / 4'000) << q;
    }
  }
}

TEST(TimelineTest, AbsurdTimesAreTaken) {
  Timeline timeline;
  timeline.Add(kNow);
  timeline.Add(std::numeric_limits<int64_t>::max());
  timeline.Add(std::numeric_limits<int64_t>::min());
  timeline.Add(0);
  EXPECT_EQ(timeline.count(), 4U);
  EXPECT_LE(timeline.TimeOf(0.25), timeline.TimeOf(1.0));
}

}  // namespace
}  // namespace fetchbench::coordinator
