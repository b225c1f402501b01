#include "common/log_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_clock.h"

namespace fetchbench {
namespace {

using ::testing::Optional;

class LogBudgetTest : public ::testing::Test {
 protected:
  std::optional<std::string> Allow(std::string_view kind = "a") {
    return budget_.Allow(kind, clock_.Now());
  }
  // How many of `lines` are allowed.
  uint64_t Flood(uint64_t lines, std::string_view kind = "a") {
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < lines; ++i) allowed += Allow(kind).has_value() ? 1 : 0;
    return allowed;
  }

  test::FakeClock clock_;
  LogBudget budget_;
};

TEST_F(LogBudgetTest, FewLinesAreAsTheyAre) {
  for (uint64_t i = 0; i < LogBudget::kLines; ++i) EXPECT_THAT(Allow(), Optional(std::string()));
}

TEST_F(LogBudgetTest, OfManyTheRestIsCountedAndToldWithTheNext) {
  EXPECT_EQ(Flood(500), LogBudget::kLines);
  clock_.Advance(LogBudget::kPeriod - std::chrono::microseconds(1));
  EXPECT_EQ(Allow(), std::nullopt);
  clock_.Advance(std::chrono::microseconds(1));
  EXPECT_THAT(Allow(), Optional(std::string(" (481 lines like this were left out before)")));
  EXPECT_THAT(Allow(), Optional(std::string())) << "told once";
}

TEST_F(LogBudgetTest, AFloodThatGoesOnHasSoManyLinesEachMinute) {
  for (int minute = 0; minute < 5; ++minute) {
    EXPECT_EQ(Flood(LogBudget::kLines + 1), LogBudget::kLines) << minute;
    clock_.Advance(LogBudget::kPeriod);
  }
  EXPECT_THAT(Allow(), Optional(std::string(" (1 line like this was left out before)")));
}

TEST_F(LogBudgetTest, AFloodOfOneKindHidesNoOther) {
  Flood(500, "a");
  EXPECT_THAT(Allow("b"), Optional(std::string()));
  EXPECT_EQ(Flood(500, "b"), LogBudget::kLines - 1);
}

TEST_F(LogBudgetTest, ThreadsShareIt) {
  std::atomic<uint64_t> allowed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { allowed += Flood(100); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, LogBudget::kLines);
  clock_.Advance(LogBudget::kPeriod);
  EXPECT_THAT(Allow(), Optional(std::string(" (380 lines like this were left out before)")));
}

}  // namespace
}  // namespace fetchbench
