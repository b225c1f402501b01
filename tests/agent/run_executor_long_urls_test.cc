#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/agent/run_executor_fixture.h"

namespace fetchbench::agent {
namespace {

// 64 MiB: a quarter of it may be URLs, whatever the window has room for.
class LongUrlsTest : public RunExecutorTest {
 protected:
  static constexpr uint64_t kShare = 16 << 20;

  void SetUp() override {
    RunSettings settings = Settings();
    settings.concurrency = 1'000;
    settings.memory_limit_bytes = uint64_t{64} << 20;
    Make(settings);
  }
  // As many as that many bytes have room for; how many they are.
  int LendWithin(uint64_t bytes) {
    int n = 0;
    for (; bytes >= UrlCost(Url(n).size()); ++n) {
      bytes -= UrlCost(Url(n).size());
      Lend(static_cast<uint64_t>(n) + 1, static_cast<uint64_t>(n), {Url(n)});
    }
    return n;
  }
  static std::string Url(int n) {
    return fmt::format("http://a/{:06}", n) + std::string(60'000, 'x');
  }
};

TEST_F(LongUrlsTest, NoMoreIsGrantedThanAShareOfTheMemoryLimit) {
  const CreditGrant first = executor_->TakeCredit();
  EXPECT_EQ(first.urls, 2'000);
  EXPECT_EQ(first.bytes, kShare);
  const int lent = LendWithin(first.bytes);
  EXPECT_LT(lent, 300);
  EXPECT_EQ(executor_->TakeCredit().bytes, 0) << "all of it is held";
  for (int i = 0; i < lent / 2; ++i) executor_->OnOutput(Line(Url(i)));
  EXPECT_NEAR(static_cast<double>(executor_->TakeCredit().bytes), kShare / 2.0, 100'000);
  EXPECT_EQ(executor_->TakeCredit().bytes, 0) << "granted once";
}

// A coordinator lends an agent that holds nothing a URL longer than what is left of its credit.
TEST_F(LongUrlsTest, AUrlBeyondTheGrantIsTakenAndCounted) {
  const int lent = LendWithin(executor_->TakeCredit().bytes);
  Lend(9'999, 9'999, {Url(9'999)});
  EXPECT_EQ(executor_->TakeCredit().bytes, 0);
  for (int i = 0; i < lent; ++i) executor_->OnOutput(Line(Url(i)));
  const uint64_t held = UrlCost(Url(9'999).size());
  const uint64_t granted = executor_->TakeCredit().bytes;
  // What was left of the first grant and what came beyond it are one sum.
  EXPECT_EQ(granted, lent * held);
}

TEST_F(LongUrlsTest, UrlsAloneAreNotGrantedOnANewStream) {
  LendWithin(executor_->TakeCredit().bytes);
  executor_->Attach(0);
  const CreditGrant grant = executor_->TakeCredit();
  EXPECT_EQ(grant.bytes, 0);
  EXPECT_EQ(grant.urls, 0) << "or they would be without a bound in bytes";
}

}  // namespace
}  // namespace fetchbench::agent
