#include "origin/lateness.h"

#include <gtest/gtest.h>

namespace fetchbench::origin {
namespace {

TEST(LatenessTest, QuantilesAreWithinASixteenth) {
  Lateness lateness;
  for (uint64_t us = 1; us <= 100'000; ++us) lateness.Add(us);
  EXPECT_EQ(lateness.count(), 100'000u);
  EXPECT_EQ(lateness.max(), 100'000u);
  EXPECT_NEAR(static_cast<double>(lateness.Quantile(0.5)), 50'000, 50'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(lateness.Quantile(0.99)), 99'000, 99'000 / 16.0);
  EXPECT_EQ(lateness.Quantile(1), 100'000u);
}

TEST(LatenessTest, SmallValuesAreExactAndHugeOnesAreKept) {
  Lateness lateness;
  EXPECT_EQ(lateness.Quantile(0.99), 0u);
  for (int i = 0; i < 99; ++i) lateness.Add(3);
  EXPECT_EQ(lateness.Quantile(0.5), 3u);
  lateness.Add(UINT64_MAX);
  EXPECT_EQ(lateness.max(), UINT64_MAX);
  EXPECT_EQ(lateness.Quantile(0.5), 3u);
}

}  // namespace
}  // namespace fetchbench::origin
