#include "agent/result_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/record_codec.h"
#include "tests/support/fake_clock.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

Record At(uint64_t index, size_t error_bytes = 0) {
  Record r;
  r.index = index;
  r.outcome = Outcome::kClientError;
  r.error = std::string(error_bytes, 'e');
  return r;
}

class ResultOutboxTest : public ::testing::Test {
 protected:
  void Fill(ResultOutbox& outbox, int records, uint64_t lease = 1, size_t error_bytes = 0) {
    for (int i = 0; i < records; ++i) outbox.Add(At(next_++, error_bytes), lease, clock_.Now());
  }
  std::vector<uint64_t> Unsent(ResultOutbox& outbox) {
    std::vector<uint64_t> seqs;
    while (const v1::Batch* batch = outbox.NextUnsent()) seqs.push_back(batch->seq());
    return seqs;
  }
  absl::Status Ack(ResultOutbox& outbox, uint64_t seq) {
    return outbox.Ack(seq, [this](uint64_t lease, uint64_t count) { committed_[lease] += count; });
  }

  test::FakeClock clock_;
  uint64_t next_ = 0;
  std::map<uint64_t, uint64_t> committed_;
};

TEST_F(ResultOutboxTest, BatchClosesWhenFullOrOldAndNotBefore) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 3}, 0);
  Fill(outbox, 2);
  outbox.Tick(clock_.Now());
  EXPECT_EQ(outbox.NextUnsent(), nullptr);
  Fill(outbox, 1);
  EXPECT_THAT(Unsent(outbox), ElementsAre(1));
  Fill(outbox, 1);
  clock_.Advance(milliseconds(99));
  outbox.Tick(clock_.Now());
  EXPECT_EQ(outbox.NextUnsent(), nullptr);
  clock_.Advance(milliseconds(1));
  outbox.Tick(clock_.Now());
  EXPECT_THAT(Unsent(outbox), ElementsAre(2));
}

TEST_F(ResultOutboxTest, BatchesStayBelowTheirBytes) {
  ResultOutbox outbox(OutboxLimits{}, 0);
  Fill(outbox, 400, 1, 4096);
  outbox.Flush();
  size_t largest = 0;
  while (const v1::Batch* batch = outbox.NextUnsent())
    largest = std::max(largest, batch->ByteSizeLong());
  EXPECT_LE(largest, 256U << 10);
  EXPECT_EQ(outbox.records(), 400);
}

TEST_F(ResultOutboxTest, KeepsWhatIsNotAcknowledgedAndSendsItAgainAfterAReconnect) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1}, 0);
  Fill(outbox, 5);
  EXPECT_THAT(Unsent(outbox), ElementsAre(1, 2, 3, 4, 5));
  ASSERT_TRUE(Ack(outbox, 2).ok());
  outbox.Rewind();
  EXPECT_THAT(Unsent(outbox), ElementsAre(3, 4, 5));
  ASSERT_TRUE(Ack(outbox, 5).ok());
  EXPECT_TRUE(outbox.empty());
  outbox.Rewind();
  EXPECT_EQ(outbox.NextUnsent(), nullptr);
}

TEST_F(ResultOutboxTest, AckAheadOfSendingSkipsWhatTheOldStreamDelivered) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1}, 0);
  Fill(outbox, 3);
  EXPECT_EQ(outbox.NextUnsent()->seq(), 1);
  ASSERT_TRUE(Ack(outbox, 2).ok());
  EXPECT_THAT(Unsent(outbox), ElementsAre(3));
}

TEST_F(ResultOutboxTest, AckTellsWhichLeasesGotRecords) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 4}, 0);
  Fill(outbox, 1, 7);
  Fill(outbox, 2, 8);
  Fill(outbox, 1, 7);
  Fill(outbox, 4, 9);
  ASSERT_TRUE(Ack(outbox, 1).ok());
  EXPECT_THAT(committed_, ElementsAre(Pair(7, 2), Pair(8, 2)));
}

TEST_F(ResultOutboxTest, OldAcksChangeNothingAndInventedOnesAreErrors) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1}, 0);
  Fill(outbox, 2);
  ASSERT_TRUE(Ack(outbox, 2).ok());
  EXPECT_TRUE(Ack(outbox, 1).ok());
  EXPECT_TRUE(Ack(outbox, 0).ok());
  EXPECT_EQ(Ack(outbox, 3).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Ack(outbox, UINT64_MAX).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ResultOutboxTest, NumbersGoOnWhereAnEarlierAgentStopped) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1}, 50);
  EXPECT_TRUE(Ack(outbox, 50).ok());
  Fill(outbox, 1);
  EXPECT_THAT(Unsent(outbox), ElementsAre(51));
}

TEST_F(ResultOutboxTest, BeforeTheFirstRecordItMayStillHaveToStartElsewhere) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1}, 0);
  outbox.StartAfter(50);
  EXPECT_TRUE(Ack(outbox, 50).ok());
  EXPECT_EQ(outbox.NextUnsent(), nullptr);
  Fill(outbox, 1);
  EXPECT_THAT(Unsent(outbox), ElementsAre(51));
}

TEST_F(ResultOutboxTest, StallsBetweenTheMarks) {
  ResultOutbox outbox(OutboxLimits{.batch_records = 1, .high_bytes = 64 * 10, .low_bytes = 64 * 5},
                      0);
  Fill(outbox, 10);
  EXPECT_FALSE(outbox.stalled());
  Fill(outbox, 1);
  EXPECT_TRUE(outbox.stalled());
  ASSERT_TRUE(Ack(outbox, 5).ok());
  EXPECT_TRUE(outbox.stalled()) << "6 batches left: above the low mark";
  ASSERT_TRUE(Ack(outbox, 6).ok());
  EXPECT_FALSE(outbox.stalled());
}

TEST_F(ResultOutboxTest, RecordsComeOutAsTheyWentIn) {
  ResultOutbox outbox(OutboxLimits{}, 0);
  Record r = At(41, 10);
  r.duration_us = 123;
  outbox.Add(r, 1, clock_.Now());
  outbox.Flush();
  const auto records = DecodeRecords(outbox.NextUnsent()->records());
  ASSERT_TRUE(records.ok());
  EXPECT_THAT(*records, ElementsAre(r));
}

}  // namespace
}  // namespace fetchbench::agent
