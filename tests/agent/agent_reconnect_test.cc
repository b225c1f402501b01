// Coordinators that come second, come back, stay away or are slow.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/agent/agent_server_fixture.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using test::Drive;
using test::MakeStart;
using test::MakeUrls;
using test::RunResult;
using test::RunStream;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(AgentServerTest, SecondRunIsToldWhichOneItMustWaitFor) {
  Serve();
  RunStream first(*stub_, MakeStart("first"));
  ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  EXPECT_EQ(Describe().busy_run_id(), "first");
  EXPECT_GT(Describe().busy_since_us(), 0);
  RunStream second(*stub_, MakeStart("second"));
  const grpc::Status status = second.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("busy with run first since 20"));
  EXPECT_TRUE(Drive(first, MakeUrls(10)).status.ok());
}

v1::Start StartOf(const std::string& run_id, const std::string& agent) {
  v1::Start start = MakeStart(run_id);
  start.set_agent(agent);
  return start;
}

// A coordinator that has one agent by two names has two sessions with it.
TEST_F(AgentServerTest, ARunStaysWithTheNameThatItWasBegunBy) {
  Serve();
  RunStream first(*stub_, StartOf("r", "localhost:7311"));
  ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  RunStream second(*stub_, StartOf("r", "127.0.0.1:7311"));
  const grpc::Status status = second.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(),
              HasSubstr("it is the same agent as localhost:7311, which has this run already"));
  const RunResult r = Drive(first, MakeUrls(10));
  EXPECT_TRUE(r.status.ok()) << r.status.error_message();
  EXPECT_THAT(r.records, SizeIs(10));
}

TEST_F(AgentServerTest, ARunIsTakenOverByTheSameNameAndByWhoTellsNone) {
  Serve();
  RunStream first(*stub_, StartOf("r", "localhost:7311"));
  ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  RunStream again(*stub_, StartOf("r", "localhost:7311"));
  ASSERT_TRUE(again.ReadUntil(v1::AgentMessage::kStarted));
  EXPECT_EQ(first.End().error_code(), grpc::StatusCode::ABORTED);
  RunStream cancel(*stub_, MakeStart("r"));
  ASSERT_TRUE(cancel.ReadUntil(v1::AgentMessage::kStarted));
  cancel.SendCancel();
  EXPECT_TRUE(cancel.ReadUntil(v1::AgentMessage::kFinished));
}

// There is nothing in it that anybody could come back for.
TEST_F(AgentServerTest, ARunThatWasNeverLentAnythingKeepsNobodyWaiting) {
  Serve();
  {
    RunStream first(*stub_, MakeStart("first"));
    ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  }
  for (int i = 0; i < 500 && !Describe().busy_run_id().empty(); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(Describe().busy_run_id(), "");
  EXPECT_TRUE(Run(MakeStart("second"), MakeUrls(10)).finished);
}

// Its records are numbered from where that coordinator now is, and it says that it knows of no
// lease.
TEST_F(AgentServerTest, ARunThatWasNeverLentAnythingBelongsToTheNextStreamLikeANewOne) {
  Serve();
  {
    RunStream first(*stub_, MakeStart("r"));
    ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  }
  v1::Start start = MakeStart("r");
  start.set_last_committed_seq(77);  // of a life of this agent before
  const RunResult r = Run(start, MakeUrls(10));
  ASSERT_TRUE(r.finished) << r.status.error_message();
  EXPECT_FALSE(r.started->resumed());
  EXPECT_EQ(r.last_seq, 78);
  EXPECT_THAT(r.records, SizeIs(10));
}

// A coordinator that loses its patience with each stream still gets its agent in the end.
TEST_F(AgentServerTest, ATargetThatWasStartedForAStreamThatIsGoneIsThereForTheNext) {
  const std::string asked = folder_ + "/asked";
  const std::string go = folder_ + "/go";
  const std::string started = folder_ + "/started";
  config_.native_path = Script("slow", fmt::format("touch {}\n"
                                                   "while [ ! -e {} ]; do sleep 0.02; done\n"
                                                   "[ \"$1\" = --describe ] || echo >> {}\n"
                                                   "exec {} \"$@\"",
                                                   asked, go, started, config_.native_path));
  Serve();
  {
    RunStream first(*stub_, MakeStart("r"));
    for (int i = 0; i < 500 && !std::filesystem::exists(asked); ++i) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    ASSERT_TRUE(std::filesystem::exists(asked));
    EXPECT_EQ(Describe().busy_run_id(), "r");
    EXPECT_GT(Describe().busy_since_us(), 0);
    first.Abort();
  }
  std::ofstream(go).put('\n');
  RunResult r;
  for (int i = 0; i < 500 && !r.finished; ++i) {
    r = Run(MakeStart("r"), MakeUrls(10));  // "still being started" at first
    if (!r.finished) std::this_thread::sleep_for(milliseconds(20));
  }
  ASSERT_TRUE(r.finished) << r.status.error_message();
  EXPECT_THAT(r.records, SizeIs(10));
  EXPECT_EQ(std::filesystem::file_size(started), 1u) << "the target was started once";
}

TEST_F(AgentServerTest, ARunThatWasCancelledIsNotBegunAgain) {
  Serve();
  RunStream first(*stub_, MakeStart("r"));
  ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kStarted));
  first.SendCancel();
  ASSERT_TRUE(first.ReadUntil(v1::AgentMessage::kFinished));
  first.End();
  const RunResult again = Run(MakeStart("r"), MakeUrls(10));
  // The last word again, while the agent does not know that it arrived.
  ASSERT_TRUE(again.finished || again.failed) << again.status.error_message();
  EXPECT_TRUE(again.records.empty());
  if (again.failed) {
    EXPECT_THAT(again.failed->message(), HasSubstr("cancelled"));
  }
  EXPECT_TRUE(Run(MakeStart("another"), MakeUrls(10)).finished);
}

// The indices of one lease, as Drive cuts them: one for each credit.
struct SentLease {
  uint64_t first;
  uint64_t count;
};

// A lease that was on its way when the stream broke may not have arrived; the coordinator lends it
// again. What arrived has all its records, and what did not was sent last.
void ExpectWholeLeases(const std::vector<SentLease>& of_one_stream,
                       const std::map<uint64_t, Record>& all) {
  bool lost = false;
  for (const SentLease& lease : of_one_stream) {
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < lease.count; ++i) recorded += all.contains(lease.first + i) ? 1 : 0;
    lost = lost || recorded == 0;
    EXPECT_EQ(recorded, lost ? 0 : lease.count) << "lease from " << lease.first;
  }
}

TEST_F(AgentServerTest, ReconnectNeitherLosesNorDoublesRecords) {
  Serve();
  const auto urls = MakeUrls(3'000);
  size_t next = 0;
  std::map<uint64_t, Record> all;
  uint64_t committed = 0;
  bool finished = false;
  std::vector<std::vector<SentLease>> sent;
  for (int life = 0; life < 50 && !finished; ++life) {
    uint64_t first = next;
    const bool all_lent = next == urls.size();
    const auto stub = MakeStub();
    v1::Start start = MakeStart("r");
    start.set_last_committed_seq(committed);
    RunStream stream(*stub, start);
    if (next == urls.size()) stream.SendFinish();
    int batches = 0;
    // Dies at its third batch: what it had acknowledged before may or may not have arrived.
    const RunResult r = Drive(stream, urls, next, [&](const RunResult& so_far) {
      return so_far.last_seq > committed && ++batches > 40;
    });
    sent.emplace_back();
    for (const uint64_t credit : r.credits) {
      const uint64_t count = std::min<uint64_t>(credit, urls.size() - first);
      if (count > 0) sent.back().push_back({first, count});
      first += count;
    }
    ASSERT_EQ(first, next);
    EXPECT_FALSE(r.seq_gap);
    // With all lent, the last stream may have broken after the run's end: then there is none to
    // resume.
    if (!all_lent) {
      EXPECT_EQ(r.started->resumed(), life > 0);
    }
    committed = std::max(committed, r.last_seq);
    for (const auto& [index, record] : r.records) {
      EXPECT_TRUE(all.try_emplace(index, record).second) << "index " << index << " came twice";
    }
    finished = r.finished.has_value();
    stream.Abort();
  }
  EXPECT_TRUE(finished);
  for (const auto& of_one_stream : sent) ExpectWholeLeases(of_one_stream, all);
}

TEST_F(AgentServerTest, NewStreamTakesOverFromOneThatStillHangs) {
  Serve();
  RunStream old_stream(*stub_, MakeStart("r"));
  ASSERT_TRUE(old_stream.ReadUntil(v1::AgentMessage::kCredit));
  ASSERT_TRUE(old_stream.SendLease(5, 0, MakeUrls(3)));
  const auto batch = old_stream.ReadUntil(v1::AgentMessage::kBatch);
  ASSERT_TRUE(batch.has_value());
  RunStream new_stream(*stub_, MakeStart("r"));
  const auto started = new_stream.ReadUntil(v1::AgentMessage::kStarted);
  ASSERT_TRUE(started.has_value());
  EXPECT_TRUE(started->started().resumed());
  EXPECT_THAT(started->started().held_lease_ids(), Contains(5));
  EXPECT_EQ(old_stream.End().error_code(), grpc::StatusCode::ABORTED);
  const auto again = new_stream.ReadUntil(v1::AgentMessage::kBatch);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->batch().seq(), batch->batch().seq());
  new_stream.SendAck(again->batch().seq());
  EXPECT_TRUE(Drive(new_stream, {}).finished.has_value());
}

TEST_F(AgentServerTest, OrphanIsDroppedAndTheAgentFree) {
  config_.orphan_timeout = milliseconds(300);
  Serve();
  {
    RunStream stream(*stub_, MakeStart("r", "deaf ignore-term"));
    ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
    stream.Abort();
  }
  WaitUntilFree();
  EXPECT_THAT(Run(MakeStart("next"), MakeUrls(5)).records, SizeIs(5));
}

TEST_F(AgentServerTest, StartMayShortenTheOrphanTimeout) {
  Serve();
  v1::Start start = MakeStart("r");
  start.set_orphan_timeout_ms(200);
  {
    RunStream stream(*stub_, start);
    ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  }
  WaitUntilFree();
}

TEST_F(AgentServerTest, NumbersGoOnForACoordinatorThatTheAgentForgot) {
  Serve();
  v1::Start start = MakeStart("r");
  start.set_last_committed_seq(77);
  const RunResult r = Run(start, MakeUrls(10));
  EXPECT_FALSE(r.started->resumed());
  EXPECT_EQ(r.last_seq, 78);
}

TEST_F(AgentServerTest, ReconnectDuringTheStartIsToldToTryAgain) {
  config_.native_path = Script("slow", "sleep 1; exec '" + config_.native_path + "' \"$@\"");
  Serve();
  RunStream first(*stub_, MakeStart("r"));
  grpc::Status refused;
  bool started = false;
  for (int i = 0; i < 1'000 && !started; ++i) {
    RunStream again(*stub_, MakeStart("r"));
    started = again.Read().has_value();
    if (started) break;
    refused = again.End();
    ASSERT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE) << refused.error_message();
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(started);
}

TEST_F(AgentServerTest, SlowCoordinatorIsHeldToTheOutboxAndLosesNothing) {
  config_.limits.outbox.high_bytes = 16 << 10;
  config_.limits.outbox.low_bytes = 8 << 10;
  Serve();
  const auto urls = MakeUrls(3'000);
  RunStream stream(*stub_, MakeStart("r"));
  size_t next = 0;
  size_t unacknowledged = 0;
  uint64_t seq = 0;
  std::optional<v1::Finished> finished;
  uint64_t records = 0;
  while (auto message = stream.Read()) {
    if (message->has_credit() && next < urls.size()) {
      const size_t n = std::min<size_t>(message->credit().urls(), urls.size() - next);
      stream.SendLease(next + 1, next,
                       {urls.begin() + static_cast<ptrdiff_t>(next),
                        urls.begin() + static_cast<ptrdiff_t>(next + n)});
      next += n;
      if (next == urls.size()) stream.SendFinish();
    }
    if (message->has_batch()) {
      seq = message->batch().seq();
      unacknowledged += static_cast<size_t>(message->batch().records().index_delta_size());
      records += static_cast<uint64_t>(message->batch().records().index_delta_size());
      EXPECT_LT(unacknowledged, 1'500U) << "the agent stops feeding when nobody acknowledges";
    }
    // Acknowledges only now and then: at each progress message.
    if (message->has_progress()) {
      stream.SendAck(seq);
      unacknowledged = 0;
    }
    if (message->has_finished()) finished = message->finished();
  }
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(records, 3'000);
  EXPECT_GT(finished->stalled_us(), 0);
}

}  // namespace
}  // namespace fetchbench::agent
