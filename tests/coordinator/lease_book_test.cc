#include "coordinator/run/lease_book.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/url_cost.h"
#include "tests/coordinator/memory_spool.h"

namespace fetchbench::coordinator {
namespace {

using std::chrono::seconds;
using test::MemorySpool;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr SteadyTime kStart{};
const absl::flat_hash_set<uint64_t> kNothing;

class LeaseBookTest : public ::testing::Test {
 protected:
  void Make(std::vector<std::vector<uint64_t>> partitions, uint32_t agents,
            uint64_t already_recorded = 0) {
    spool_ = std::make_unique<MemorySpool>(std::move(partitions), 4);
    book_ = std::make_unique<LeaseBook>(spool_->total() + already_recorded, already_recorded,
                                        spool_->remaining(), agents, seconds(10),
                                        [this](uint32_t p) { return spool_->Take(p); });
  }

  std::optional<Lease> Lend(AgentIndex agent, size_t wanted = 100,
                            std::optional<int64_t> bytes = std::nullopt) {
    auto lease = book_->Lend(agent, wanted, bytes);
    EXPECT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(book_->counts().Balanced());
    return lease.ok() ? *lease : std::nullopt;
  }

  static std::vector<uint64_t> Indices(const Lease& lease) {
    std::vector<uint64_t> indices;
    for (const uint32_t e : lease.entries) indices.push_back(lease.chunk->indices[e]);
    return indices;
  }

  Verdict Accept(AgentIndex agent, uint64_t index) { return book_->Accept(agent, index).verdict; }

  std::unique_ptr<MemorySpool> spool_;
  std::unique_ptr<LeaseBook> book_;
};

TEST_F(LeaseBookTest, LendsTheFullestPartitionFirst) {
  Make({{0}, {1, 2, 3}, {4, 5}}, 1);
  EXPECT_THAT(Indices(*Lend(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Indices(*Lend(0)), ElementsAre(4, 5));
  EXPECT_THAT(Indices(*Lend(0)), ElementsAre(0));
  EXPECT_FALSE(Lend(0));
}

TEST_F(LeaseBookTest, LendsAPartitionToOneAgentAtATime) {
  Make({{0, 1, 2, 3, 4, 5, 6, 7}}, 2);
  const auto lease = Lend(0);
  ASSERT_THAT(lease->entries, SizeIs(4));
  EXPECT_FALSE(Lend(1)) << "the rest belongs to agent 0";
  EXPECT_EQ(book_->Holder(0), 0u);
  for (const uint64_t i : Indices(*lease)) EXPECT_EQ(Accept(0, i), Verdict::kFirst);
  EXPECT_EQ(book_->Holder(0), std::nullopt);
  EXPECT_THAT(Lend(1)->entries, SizeIs(4));
}

TEST_F(LeaseBookTest, LendsNoMoreThanWanted) {
  Make({{0, 1, 2, 3}}, 1);
  EXPECT_THAT(Indices(*Lend(0, 1)), ElementsAre(0));
  EXPECT_THAT(Indices(*Lend(0, 2)), ElementsAre(1, 2));
  EXPECT_THAT(Indices(*Lend(0, 2)), ElementsAre(3));
}

TEST_F(LeaseBookTest, AcceptsTheFirstRecordAndDropsTheSecond) {
  Make({{0}}, 1);
  Lend(0);
  const Accepted accepted = book_->Accept(0, 0);
  EXPECT_EQ(accepted.verdict, Verdict::kFirst);
  EXPECT_EQ(accepted.url, "https://p0.example/0");
  EXPECT_EQ(Accept(0, 0), Verdict::kDuplicate);
  EXPECT_EQ(book_->counts().duplicates, 1u);
  EXPECT_TRUE(book_->AllRecorded());
}

TEST_F(LeaseBookTest, RefusesRecordsOfUrlsNeverLentToThatAgent) {
  Make({{0, 2}, {1}}, 2);
  Lend(0);
  EXPECT_EQ(Accept(0, 1), Verdict::kUnknown) << "never lent";
  EXPECT_EQ(Accept(1, 0), Verdict::kUnknown) << "lent to another";
  EXPECT_EQ(Accept(0, 99), Verdict::kUnknown) << "no such index";
  EXPECT_EQ(book_->counts().unknown, 3u);
  EXPECT_EQ(book_->counts().recorded, 0u);
}

TEST_F(LeaseBookTest, GivesLeasesOfAnAgentThatStaysAwayToOthers) {
  Make({{0, 1, 2}}, 2);
  Lend(0);
  EXPECT_EQ(Accept(0, 1), Verdict::kFirst);
  book_->AgentAway(0, kStart);
  EXPECT_THAT(book_->Tick(kStart + seconds(9)), SizeIs(0));
  EXPECT_FALSE(Lend(1));
  EXPECT_THAT(book_->Tick(kStart + seconds(10)), ElementsAre(0u));
  EXPECT_THAT(book_->Tick(kStart + seconds(20)), SizeIs(0)) << "told once";
  EXPECT_THAT(Indices(*Lend(1)), ElementsAre(0, 2)) << "the one with a record is not lent again";
  EXPECT_EQ(book_->counts().taken_back, 2u);
  EXPECT_EQ(book_->counts().lent_again, 2u);
}

TEST_F(LeaseBookTest, TakesALateRecordIfItIsTheFirst) {
  Make({{0, 1}}, 2);
  Lend(0);
  book_->AgentGone(0);
  EXPECT_EQ(Accept(0, 0), Verdict::kFirst) << "while it waits";
  Lend(1);
  EXPECT_EQ(Accept(0, 1), Verdict::kFirst) << "while it is lent to another";
  EXPECT_EQ(Accept(1, 1), Verdict::kDuplicate);
  EXPECT_TRUE(book_->AllRecorded());
  EXPECT_TRUE(book_->counts().Balanced());
}

TEST_F(LeaseBookTest, AnAgentThatComesBackInTimeKeepsWhatItHolds) {
  Make({{0}, {1}}, 1);
  const auto first = Lend(0);
  const auto second = Lend(0);
  book_->AgentAway(0, kStart);
  book_->AgentBack(0, {first->id});
  EXPECT_THAT(book_->Tick(kStart + seconds(60)), SizeIs(0));
  EXPECT_EQ(book_->LentTo(0), 1u) << "the lease that got lost on its way is taken back";
  EXPECT_THAT(Indices(*Lend(0)), ElementsAre(second->chunk->indices[0]));
}

TEST_F(LeaseBookTest, ARestartedAgentHoldsNothing) {
  Make({{0, 1}}, 1);
  Lend(0);
  book_->AgentBack(0, kNothing);
  EXPECT_EQ(book_->LentTo(0), 0u);
  EXPECT_THAT(Indices(*Lend(0)), ElementsAre(0, 1));
}

TEST_F(LeaseBookTest, GraceRunsFromTheFirstAbsence) {
  Make({{0}}, 1);
  Lend(0);
  book_->AgentAway(0, kStart);
  book_->AgentAway(0, kStart + seconds(9));
  EXPECT_THAT(book_->Tick(kStart + seconds(10)), ElementsAre(0u));
}

TEST_F(LeaseBookTest, InvalidLinesCountAsRecorded) {
  Make({{1}}, 1, 1);
  EXPECT_FALSE(book_->AllRecorded());
  Lend(0);
  EXPECT_EQ(Accept(0, 1), Verdict::kFirst);
  EXPECT_TRUE(book_->AllRecorded());
}

TEST_F(LeaseBookTest, AnEmptyListIsDoneAtOnce) {
  Make({}, 1);
  EXPECT_TRUE(book_->AllRecorded());
  EXPECT_FALSE(Lend(0));
}

TEST_F(LeaseBookTest, HoldsBackWhenTooMuchTextIsInMemory) {
  std::vector<std::vector<uint64_t>> partitions;
  for (uint64_t i = 0; i < 3000; ++i) partitions.push_back({i});
  spool_ = std::make_unique<MemorySpool>(std::move(partitions), 4, std::string(60'000, 'x'));
  book_ = std::make_unique<LeaseBook>(3000, 0, spool_->remaining(), 2, seconds(10),
                                      [this](uint32_t p) { return spool_->Take(p); });
  uint64_t lent = 0;
  while (Lend(0)) ++lent;
  EXPECT_LT(lent * 60'000, LeaseBook::kMaxHeldBytes + 120'000);
  EXPECT_TRUE(Lend(1)) << "an agent that holds nothing always gets one lease";
  EXPECT_FALSE(Lend(1));
}

class LeaseBytesTest : public LeaseBookTest {
 protected:
  // One long URL each, by MemorySpool.
  void Make(std::vector<std::vector<uint64_t>> partitions, uint32_t agents) {
    spool_ = std::make_unique<MemorySpool>(std::move(partitions), 4, std::string(60'000, 'x'));
    book_ =
        std::make_unique<LeaseBook>(spool_->total(), 0, spool_->remaining(), agents, seconds(10),
                                    [this](uint32_t p) { return spool_->Take(p); });
  }
  static constexpr int64_t kOne = 60'000 + kUrlCostBytes + sizeof("https://p0.example/0") - 1;
};

TEST_F(LeaseBytesTest, LendsNoMoreThanTheBytesHaveRoomFor) {
  Make({{0, 1, 2, 3}}, 1);
  EXPECT_THAT(Indices(*Lend(0, 100, 3 * kOne - 1)), ElementsAre(0, 1));
  EXPECT_FALSE(Lend(0, 100, kOne - 1)) << "it holds something: it can wait";
  EXPECT_FALSE(Lend(0, 100, 0));
  EXPECT_FALSE(Lend(0, 100, -5));
  EXPECT_EQ(book_->counts().waiting, 2u);
  EXPECT_THAT(Indices(*Lend(0, 100, kOne)), ElementsAre(2));
  EXPECT_THAT(Indices(*Lend(0, 1, 9 * kOne)), ElementsAre(3)) << "both bounds hold";
}

// Or a URL longer than the credit would never be fetched.
TEST_F(LeaseBytesTest, AnAgentThatHoldsNothingGetsOneUrlWhateverItsLength) {
  Make({{0, 1}}, 1);
  EXPECT_THAT(Indices(*Lend(0, 100, -1)), ElementsAre(0));
  EXPECT_FALSE(Lend(0, 100, kOne - 1));
  EXPECT_EQ(Accept(0, 0), Verdict::kFirst);
  EXPECT_THAT(Indices(*Lend(0, 100, 1)), ElementsAre(1));
}

TEST_F(LeaseBytesTest, WhatDoesNotFitOneAgentGoesToAnother) {
  Make({{0}, {1}}, 2);
  EXPECT_TRUE(Lend(0, 100, kOne));
  EXPECT_FALSE(Lend(0, 100, kOne - 1));
  EXPECT_TRUE(Lend(1, 100, kOne));
  EXPECT_EQ(book_->counts().lent, 2u);
}

TEST_F(LeaseBytesTest, UrlsWithARecordTakeNoRoom) {
  Make({{0, 1, 2}}, 2);
  EXPECT_THAT(Lend(0, 100)->entries, SizeIs(3));
  book_->AgentGone(0);
  EXPECT_EQ(Accept(0, 0), Verdict::kFirst) << "late";
  EXPECT_THAT(Indices(*Lend(1, 100, 2 * kOne)), ElementsAre(1, 2));
}

TEST_F(LeaseBookTest, ReportsASpoolThatFails) {
  LeaseBook book(1, 0, {1}, 1, seconds(1), [](uint32_t) { return absl::DataLossError("damaged"); });
  EXPECT_TRUE(absl::IsDataLoss(book.Lend(0, 1).status()));
  EXPECT_TRUE(book.counts().Balanced());
}

}  // namespace
}  // namespace fetchbench::coordinator
