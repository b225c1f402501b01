#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/agent/run_executor_fixture.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(RunExecutorTest, LeaseToRecordToFinished) {
  EXPECT_GT(executor_->TakeCredit().urls, 2);
  EXPECT_EQ(executor_->TakeCredit().urls, 0) << "granted once";
  Lend(1, 100, {"http://a/", "http://b/"});
  EXPECT_EQ(target_.fed, "http://a/\nhttp://b/\n");
  executor_->OnOutput(Line("http://b/") + Line("http://a/"));
  executor_->RequestFinish();
  EXPECT_TRUE(target_.input_closed);
  Exit(0);
  EXPECT_FALSE(executor_->Final().has_value()) << "records are not acknowledged yet";
  Commit();
  EXPECT_THAT(records_, SizeIs(2));
  EXPECT_EQ(records_[100].status, 200);
  ASSERT_TRUE(executor_->Final().has_value());
  EXPECT_EQ(executor_->Final()->finished().records(), 2);
}

// What it is corrected by is told by the same clock, so a step is not taken for an offset.
TEST_F(RunExecutorTest, AStepOfTheWallClockReachesNeitherRecordsNorWhatIsToldOfTheClock) {
  const int64_t begun_us = executor_->WallUs();
  clock_.SetForward(std::chrono::minutes(5));
  clock_.Advance(seconds(1));
  EXPECT_EQ(executor_->WallUs(), begun_us + 1'000'000);
  Lend(1, 100, {"http://a/"});
  Exit(1);
  Commit();
  EXPECT_EQ(records_[100].start_us, begun_us + 1'000'000);
}

TEST_F(RunExecutorTest, InputIsClosedOnlyWhenEverythingIsFed) {
  target_.room = false;
  Lend(1, 0, {"http://a/"});
  executor_->RequestFinish();
  EXPECT_FALSE(target_.input_closed);
  target_.room = true;
  executor_->OnWritable();
  EXPECT_EQ(target_.fed, "http://a/\n");
  EXPECT_TRUE(target_.input_closed || (executor_->OnWritable(), target_.input_closed));
}

TEST_F(RunExecutorTest, FeedsNoMoreThanItsLimit) {
  std::vector<std::string> urls;
  for (int i = 0; i < 1'000; ++i) urls.push_back(fmt::format("http://{}/", i));
  Lend(1, 0, urls);
  EXPECT_EQ(Progress().started(), 2 + CreditPolicy::kLeastBuffer);
  EXPECT_EQ(Progress().in_flight(), 2) << "the others wait in the target";
  executor_->OnOutput(Line("http://0/"));
  EXPECT_EQ(Progress().started(), 3 + CreditPolicy::kLeastBuffer);
}

TEST_F(RunExecutorTest, CountsSurplusAndUnparsableLinesAndGoesOn) {
  Lend(1, 0, {"http://a/"});
  executor_->OnOutput("noise\n" + Line("http://never/") + Line("http://a/") + Line("http://a/") +
                      "{\"json\":\n\n");
  executor_->RequestFinish();
  Exit(0);
  Commit();
  const auto final = executor_->Final();
  ASSERT_TRUE(final && final->has_finished());
  EXPECT_EQ(final->finished().surplus_lines(), 2);
  EXPECT_EQ(final->finished().unparsable_lines(), 3);
  EXPECT_EQ(final->finished().records(), 1);
  EXPECT_THAT(final->finished().target_stderr(), HasSubstr("noise"));
}

TEST_F(RunExecutorTest, CrashGivesEveryOpenUrlARecordAndFails) {
  Lend(1, 0, {"http://a/", "http://b/", "http://c/"});
  executor_->OnOutput(Line("http://a/"));
  clock_.Advance(seconds(3));
  Exit(-9, "one\ntwo\n");
  Commit();
  ASSERT_THAT(records_, SizeIs(3));
  EXPECT_EQ(records_[1].outcome, Outcome::kClientCrashed);
  EXPECT_THAT(records_[1].error, AllOf(HasSubstr("signal 9"), HasSubstr("two")));
  EXPECT_EQ(records_[2].duration_us, 3'000'000);
  const auto final = executor_->Final();
  ASSERT_TRUE(final && final->has_failed());
  EXPECT_THAT(final->failed().message(), HasSubstr("2 URLs open"));
  EXPECT_EQ(final->failed().totals().records(), 3);
  EXPECT_EQ(final->failed().totals().target_exit_code(), -9);
}

TEST_F(RunExecutorTest, UrlsNotGivenToTheTargetGetNoRecordWhenItDies) {
  target_.room = false;
  Lend(1, 0, {"http://a/"});
  Exit(1);
  Commit();
  EXPECT_THAT(records_, SizeIs(0));
  EXPECT_THAT(executor_->Final()->failed().message(), HasSubstr("1 not yet given"));
}

TEST_F(RunExecutorTest, TargetThatEndsWellButEarlyIsAFailureToo) {
  Exit(0);
  EXPECT_TRUE(executor_->Final()->has_failed());
}

TEST_F(RunExecutorTest, HalfALineIsNoRecord) {
  Lend(1, 0, {"http://a/"});
  const std::string line = Line("http://a/");
  executor_->OnOutput(line.substr(0, line.size() - 2));
  executor_->RequestFinish();
  Exit(-11);
  Commit();
  EXPECT_EQ(records_[0].outcome, Outcome::kClientCrashed);
  EXPECT_EQ(executor_->Final()->failed().totals().unparsable_lines(), 1);
}

TEST_F(RunExecutorTest, CancelTerminatesKeepsTheLastRecordsAndThenKills) {
  Lend(1, 0, {"http://a/", "http://b/"});
  executor_->Cancel("test");
  EXPECT_EQ(target_.terminated, 1);
  executor_->OnOutput("http://a/,cancelled,2023-11-14T22:13:20.1Z,5,0\n");
  Pass(milliseconds(1'900));
  EXPECT_EQ(target_.killed, 0);
  Pass(milliseconds(300));
  EXPECT_EQ(target_.killed, 1);
  Exit(-9);
  Commit();
  ASSERT_THAT(records_, SizeIs(1)) << "a URL without a record was not started";
  EXPECT_EQ(records_[0].outcome, Outcome::kCancelled);
  EXPECT_TRUE(executor_->Final()->has_finished());
}

TEST_F(RunExecutorTest, LeaseThatCrossesACancelIsNotStarted) {
  executor_->Cancel("test");
  Lend(1, 0, {"http://a/"});
  EXPECT_EQ(target_.fed, "");
  EXPECT_EQ(executor_->TakeCredit().urls, 0);
  Exit(143);
  EXPECT_TRUE(executor_->Final()->has_finished());
}

TEST_F(RunExecutorTest, HungTargetIsKilledAndItsUrlsCrashed) {
  Lend(1, 0, {"http://a/", "http://b/"});
  Pass(seconds(30));
  executor_->OnOutput(Line("http://a/"));
  Pass(seconds(34));
  EXPECT_EQ(target_.terminated, 0) << "5 s timeout and 30 s grace since its last record";
  executor_->OnOutput("noise is no sign of life\n");
  Pass(seconds(2));
  EXPECT_EQ(target_.terminated, 1);
  Pass(seconds(3));
  EXPECT_EQ(target_.killed, 1);
  Exit(-9);
  Commit();
  EXPECT_EQ(records_[1].outcome, Outcome::kClientCrashed);
  EXPECT_THAT(executor_->Final()->failed().message(), HasSubstr("no record for 35 s"));
}

TEST_F(RunExecutorTest, IdleTargetIsNotTakenForHung) {
  Pass(seconds(100));
  Lend(1, 0, {"http://a/"});
  Pass(seconds(34));
  EXPECT_EQ(target_.terminated, 0);
}

TEST_F(RunExecutorTest, TargetThatDoesNotEndAtTheEndOfItsInputIsEnded) {
  Lend(1, 0, {"http://a/"});
  executor_->OnOutput(Line("http://a/"));
  executor_->RequestFinish();
  Pass(milliseconds(14'900));
  EXPECT_EQ(target_.terminated, 0);
  Pass(milliseconds(300));
  EXPECT_EQ(target_.terminated, 1);
  Pass(milliseconds(2'200));
  EXPECT_EQ(target_.killed, 1);
  Exit(-9);
  Commit();
  EXPECT_TRUE(executor_->Final()->has_finished()) << "every URL has its record";
}

TEST_F(RunExecutorTest, FullOutboxStopsFeedingAndTheTimeIsCounted) {
  RunSettings settings = Settings();
  settings.limits.outbox = OutboxLimits{.batch_records = 1, .high_bytes = 100, .low_bytes = 10};
  Make(settings);
  target_.room = false;
  Lend(1, 0, {"http://a/", "http://b/", "http://c/", "http://d/"});
  target_.room = true;
  executor_->OnWritable();
  executor_->OnOutput(Line("http://a/") + Line("http://b/"));
  Lend(2, 10, {"http://e/"});
  EXPECT_EQ(target_.fed.find("http://e/"), std::string::npos);
  EXPECT_EQ(executor_->TakeCredit().urls, 0);
  executor_->OnOutput(Line("http://c/"));
  Pass(seconds(2));
  EXPECT_EQ(Progress().stalled_us(), 2'000'000);
  EXPECT_EQ(Progress().done(), 3) << "what the target gives is always taken";
  Commit();
  EXPECT_NE(target_.fed.find("http://e/"), std::string::npos);
  const uint64_t stalled = Progress().stalled_us();
  Pass(seconds(1));
  EXPECT_EQ(Progress().stalled_us(), stalled);
}

TEST_F(RunExecutorTest, ReconnectSendsAgainAndGrantsAnew) {
  RunSettings settings = Settings();
  settings.limits.outbox.batch_records = 1;
  Make(settings);
  const uint32_t credit = executor_->TakeCredit().urls;
  Lend(1, 0, {"http://a/", "http://b/"});
  Lend(2, 5, {"http://c/"});
  executor_->OnOutput(Line("http://a/") + Line("http://b/"));
  EXPECT_EQ(executor_->NextBatch()->seq(), 1);
  EXPECT_EQ(executor_->NextBatch()->seq(), 2);
  EXPECT_THAT(executor_->HeldLeases(), ElementsAre(1, 2));
  executor_->Attach(1);
  EXPECT_THAT(executor_->HeldLeases(), ElementsAre(1, 2)) << "b is not acknowledged";
  EXPECT_EQ(executor_->NextBatch()->seq(), 2);
  EXPECT_EQ(executor_->NextBatch(), nullptr);
  EXPECT_EQ(executor_->TakeCredit().urls, credit - 1) << "one URL is open";
  executor_->Ack(2);
  EXPECT_THAT(executor_->HeldLeases(), ElementsAre(2));
}

TEST_F(RunExecutorTest, ProtocolErrorsFailTheRunAndNotTheAgent) {
  Lend(1, 0, {"http://a/"});
  executor_->OnOutput(Line("http://a/"));
  Lend(1, 7, {"http://b/"});
  EXPECT_EQ(target_.terminated, 1);
  executor_->Ack(999);
  Exit(143);
  Commit();
  const auto final = executor_->Final();
  ASSERT_TRUE(final && final->has_failed());
  EXPECT_EQ(final->failed().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(final->failed().message(), HasSubstr("lease 1 is held already"));
  EXPECT_THAT(records_, SizeIs(1)) << "what was read before is kept";
}

TEST_F(RunExecutorTest, LeaseAfterFinishIsAProtocolError) {
  executor_->RequestFinish();
  Lend(1, 0, {"http://a/"});
  Exit(0);
  EXPECT_EQ(executor_->Final()->failed().code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(RunExecutorTest, UrlThatIsNoLineBecomesAnInvalidUrlRecord) {
  Lend(1, 0, {"http://a/", "http://b/\nhttp://c/", ""});
  EXPECT_EQ(target_.fed, "http://a/\n");
  Commit();
  EXPECT_EQ(records_[1].outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(records_[2].outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(target_.terminated, 0);
}

TEST_F(RunExecutorTest, LongErrorTextsAreCut) {
  Lend(1, 0, {"http://a/"});
  executor_->OnOutput("http://a/," + std::string(1 << 20, 'e') + ",2023-11-14T22:13:20.1Z,5,0\n");
  Commit();
  EXPECT_EQ(records_[0].error.size(), kMaxErrorTextBytes);
}

TEST_F(RunExecutorTest, TargetsWordsThatAreNoTextDoNotSpoilTheMessage) {
  Exit(1, "bytes \xff\xfe");
  EXPECT_THAT(executor_->Final()->failed().target_stderr(), HasSubstr("bytes ??"));
}

}  // namespace
}  // namespace fetchbench::agent
