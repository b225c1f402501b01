#include "agent/credit.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;

TEST(CreditPolicyTest, HoldsConcurrencyAndASmallBufferBeforeAnyRateIsKnown) {
  EXPECT_EQ((CreditPolicy{10}).Window(0), 10 + 64);
  EXPECT_EQ((CreditPolicy{150}).Window(0), 150 + 150);
  EXPECT_EQ((CreditPolicy{10}).FeedLimit(0), 10 + 64);
}

TEST(CreditPolicyTest, BufferFollowsTheRateAndStaysBounded) {
  const CreditPolicy policy{100};
  EXPECT_EQ(policy.Window(2'000), 100 + 1'000);
  EXPECT_EQ(policy.Window(1e9), 100 + CreditPolicy::kMostBuffer);
  EXPECT_EQ(policy.FeedLimit(2'000), 100 + 200);
  EXPECT_EQ(policy.FeedLimit(1e9), 100 + CreditPolicy::kMostFedAhead);
  EXPECT_EQ((CreditPolicy{100'000}).Window(0), 100'000 + CreditPolicy::kMostBuffer);
}

TEST(CreditPolicyTest, GrantsWhatIsMissingButNotInDrops) {
  const CreditPolicy policy{10};  // window 74
  EXPECT_EQ(policy.Grant(0, 0, 0), 74);
  EXPECT_EQ(policy.Grant(0, 0, 74), 0) << "granted, not yet come";
  EXPECT_EQ(policy.Grant(0, 60, 0), 0) << "less than a quarter is free";
  EXPECT_EQ(policy.Grant(0, 50, 0), 24);
  EXPECT_EQ(policy.Grant(0, 500, 0), 0) << "more was sent than granted";
}

TEST(CreditPolicyTest, AlwaysGrantsWhenNothingIsHeld) {
  for (uint32_t concurrency = 1; concurrency < 2'000; ++concurrency) {
    EXPECT_GT((CreditPolicy{concurrency}).Grant(0, 0, 0), concurrency);
  }
}

TEST(CreditPolicyTest, GrantsBytesAsFarAsTheyAreNeitherHeldNorOutstanding) {
  const CreditPolicy policy{10, 1'000};
  EXPECT_EQ(policy.GrantBytes(0, 0), 1'000);
  EXPECT_EQ(policy.GrantBytes(300, 200), 500);
  EXPECT_EQ(policy.GrantBytes(0, 1'000), 0) << "granted, not yet come";
  EXPECT_EQ(policy.GrantBytes(938, 0), 0) << "less than a step is free";
  EXPECT_EQ(policy.GrantBytes(937, 0), 63);
  EXPECT_EQ(policy.GrantBytes(1'100, 0), 0) << "a URL beyond it came";
  EXPECT_EQ(policy.GrantBytes(100, -100), 1'000) << "and is paid for by the grant after it";
}

TEST(RateMeterTest, FollowsTheRateAndForgetsIt) {
  test::FakeClock clock;
  RateMeter meter;
  uint64_t total = 0;
  meter.Update(total, clock.Now());
  EXPECT_EQ(meter.per_second(), 0);
  for (int i = 0; i < 200; ++i) {
    clock.Advance(milliseconds(25));
    total += 25;
    meter.Update(total, clock.Now());
  }
  EXPECT_NEAR(meter.per_second(), 1'000, 20);
  for (int i = 0; i < 200; ++i) {
    clock.Advance(milliseconds(25));
    meter.Update(total, clock.Now());
  }
  EXPECT_LT(meter.per_second(), 1);
}

TEST(RateMeterTest, UpdatesAtOneMomentDoNotDivideByZero) {
  test::FakeClock clock;
  RateMeter meter;
  meter.Update(0, clock.Now());
  meter.Update(1'000'000, clock.Now());
  EXPECT_EQ(meter.per_second(), 0);
}

}  // namespace
}  // namespace fetchbench::agent
