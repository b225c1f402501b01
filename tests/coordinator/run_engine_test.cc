// Runs of the engine that end, and those that agents disturb.

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "common/log.h"
#include "common/record_codec.h"
#include "coordinator/fleet/peer_text.h"
#include "tests/coordinator/memory_spool.h"
#include "tests/coordinator/run_engine_fixture.h"
#include "tests/support/fake_agent.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::FakeAgent;
using fetchbench::test::FakeAgentScript;
using std::chrono::milliseconds;
using test::MemorySpool;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(RunEngineTest, OneAgentRecordsEveryUrl) {
  const FakeAgent& agent = Add();
  ExpectComplete(Run(5000), 5000);
  EXPECT_EQ(agent.urls_seen().size(), 5000u);
  EXPECT_EQ(agent.overdrawn(), 0u);
}

TEST_F(RunEngineTest, AnEmptyListEndsAtOnce) {
  Add();
  ExpectComplete(Run(0), 0);
}

TEST_F(RunEngineTest, AShortListIsSpreadOverAllAgents) {
  for (int i = 0; i < 4; ++i) Add();
  ExpectComplete(Run(200), 200);
  for (const auto& agent : agents_) EXPECT_GT(agent->urls_seen().size(), 20u);
}

TEST_F(RunEngineTest, AnAgentThatIsNotAdmittedIsLeftOutAndTheRunGoesOn) {
  Add();
  const FakeAgent& other = Add();
  not_admitted_ = 1;
  const EngineResult result = Run(200);
  ExpectComplete(result, 200);
  EXPECT_TRUE(other.urls_seen().empty());
  EXPECT_TRUE(other.cancelled());
  EXPECT_TRUE(result.agents[1].lost);
  EXPECT_THAT(result.agents[1].trouble, HasSubstr("another version"));
}

TEST_F(RunEngineTest, ASlowAdmissionDoesNotShiftAnAgentsClock) {
  constexpr int64_t kItsClockUs = 5'000'000'000'000;
  Add({.clock_us = kItsClockUs});
  admission_takes_ = std::chrono::milliseconds(1'000);
  const EngineResult result = Run(100);
  ExpectComplete(result, 100);
  const int64_t heard_us = kItsClockUs - result.agents[0].clock_offset_us;
  // Half of it, for a wall clock that is put right meanwhile.
  EXPECT_LE(heard_us, admission_began_us_ + 500'000) << "its word was read before that";
}

// The fixture waits 1.5 s for agents to be reached: a container can take longer to start.
TEST_F(RunEngineTest, ATargetThatIsBeingStartedIsWaitedForBeyondThat) {
  Add({.slow_first_start = milliseconds(2'500)});
  ExpectComplete(Run(100), 100);
}

TEST_F(RunEngineTest, ATargetThatIsNeverStartedIsNotWaitedForForEver) {
  options_.start_patience = milliseconds(300);
  Add({.slow_first_start = milliseconds(4'000)});
  const EngineResult result = Run(100);
  EXPECT_THAT(std::string(result.connected.message()), HasSubstr("could be reached"));
}

TEST_F(RunEngineTest, SmallCreditIsNeverOverdrawn) {
  const FakeAgent& agent = Add({.window = 3});
  ExpectComplete(Run(300), 300);
  EXPECT_EQ(agent.overdrawn(), 0u);
}

TEST_F(RunEngineTest, ABrokenStreamIsResumedWithoutLossOrRepetition) {
  const FakeAgent& agent = Add({.break_after = 1000});
  const EngineResult result = Run(5000);
  ExpectComplete(result, 5000);
  ASSERT_EQ(agent.starts().size(), 2u);
  EXPECT_EQ(result.agents[0].reconnects, 1u);
  EXPECT_EQ(result.counts.duplicates, 0u) << "batches sent again are known by their number";
}

TEST_F(RunEngineTest, ARestartedAgentGetsItsUrlsAgain) {
  const FakeAgent& agent = Add({.break_after = 1000, .forget_at_break = true});
  ExpectComplete(Run(5000), 5000);
  EXPECT_EQ(agent.starts().size(), 2u);
}

TEST_F(RunEngineTest, ARestartedAgentMayBreakAgainBeforeItsFirstBatch) {
  const FakeAgent& agent = Add({.break_after = 1000, .forget_at_break = true, .barren_streams = 2});
  ExpectComplete(Run(5000), 5000);
  EXPECT_EQ(agent.starts().size(), 4u);
}

// Its Started comes after the last batches of its life before have been committed.
TEST_F(RunEngineTest, ARestartedAgentHearsNothingOfTheBatchesOfItsLifeBefore) {
  options_.session.first_backoff = milliseconds(1);
  const FakeAgent& agent = Add({.window = 20'000,
                                .break_after = 15'000,
                                .forget_at_break = true,
                                .slow_start = milliseconds(1000)});
  ExpectComplete(Run(20'000), 20'000);
  EXPECT_EQ(agent.starts().size(), 2u);
}

TEST_F(RunEngineTest, UrlsOfAnAgentThatStaysAwayGoToTheOther) {
  Add();
  Add({.break_after = 500, .away_after_break = true});
  const EngineResult result = Run(20'000);
  ExpectComplete(result, 20'000);
  EXPECT_TRUE(result.agents[1].lost);
  EXPECT_FALSE(result.agents[0].lost);
}

TEST_F(RunEngineTest, WhatAnAwayAgentHadAskedForIsNotLentToIt) {
  // Both want more than there is. Without grace the first one's URLs are free at once, long before
  // its next stream would have made it forget what it wanted.
  options_.grace = milliseconds(0);
  options_.session.first_backoff = options_.session.longest_backoff = milliseconds(2000);
  Add({.window = 1000, .records_per_batch = 1, .break_after = 50, .away_after_break = true});
  Add({.window = 1000});
  const EngineResult result = Run(400);
  ExpectComplete(result, 400);
  EXPECT_TRUE(result.agents[0].lost);
}

TEST_F(RunEngineTest, WithoutAnyAgentForTooLongTheRunIsIncompleteAndKeepsItsRecords) {
  options_.give_up_after = milliseconds(600);
  Add({.break_after = 500, .away_after_break = true});
  const EngineResult result = Run(20'000);
  EXPECT_EQ(result.end.end, RunEnd::kIncomplete);
  EXPECT_THAT(result.end.reason, HasSubstr("the script breaks the stream"));
  EXPECT_GE(result.committed, 500u);
  EXPECT_EQ(Rows(), static_cast<int64_t>(result.committed));
  EXPECT_TRUE(result.counts.Balanced());
}

TEST_F(RunEngineTest, BatchesSentTwiceCountOnce) {
  Add({.send_batches_twice = true});
  const EngineResult result = Run(3000);
  ExpectComplete(result, 3000);
  EXPECT_EQ(result.counts.duplicates, 0u);
}

TEST_F(RunEngineTest, AnAgentThatCannotBeReachedIsNamedAndTheOthersGoOn) {
  Add();
  further_addresses_ = {"127.0.0.1:1"};
  const EngineResult result = Run(1000);
  ExpectComplete(result, 1000);
  EXPECT_THAT(result.agents[1].trouble, HasSubstr("Connection refused"));
}

TEST_F(RunEngineTest, NoAgentAtAllIsAClearError) {
  further_addresses_ = {"127.0.0.1:1"};
  const EngineResult result = Run(1000);
  EXPECT_THAT(std::string(result.connected.message()), HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(result.end.end, RunEnd::kIncomplete);
}

TEST_F(RunEngineTest, ABusyAgentIsNotWaitedFor) {
  Add({.refuse = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "busy with run R since T")});
  const EngineResult result = Run(10);
  EXPECT_THAT(std::string(result.connected.message()), HasSubstr("busy with run R since T"));
  EXPECT_THAT(result.may_be_busy, IsEmpty());
}

TEST_F(RunEngineTest, AMalformedBatchEndsThatAgentOnly) {
  Add();
  v1::AgentMessage malformed;
  malformed.mutable_batch()->set_seq(1);
  malformed.mutable_batch()->mutable_records()->add_index_delta(0);
  Add({.instead_of_batch = malformed});
  const EngineResult result = Run(5000);
  ExpectComplete(result, 5000);
  EXPECT_TRUE(result.agents[1].lost);
  EXPECT_THAT(result.agents[1].trouble, HasSubstr("malformed"));
  EXPECT_THAT(result.may_be_busy, ElementsAre(1u));
}

v1::AgentMessage BatchOf(uint64_t seq, int records) {
  v1::AgentMessage message;
  message.mutable_batch()->set_seq(seq);
  std::vector<Record> all(static_cast<size_t>(records));
  for (Record& r : all) r.outcome = Outcome::kDnsNotFound;
  *message.mutable_batch()->mutable_records() = EncodeRecords(all);
  return message;
}

// The record of a URL, once the stream of `other` is over: so nothing ends before that was heard.
FakeAgentScript AfterTheEndOf(const std::vector<std::unique_ptr<FakeAgent>>& agents, size_t other) {
  return {.answer = [&agents, other](uint64_t index, const std::string&) {
    constexpr int kLooks = 1'000;
    for (int i = 0; i < kLooks && agents[other]->streams_ended() == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    Record r;
    r.index = index;
    r.outcome = Outcome::kDnsNotFound;
    return std::optional(r);
  }};
}

// Each of these is said by one of two agents; the other does the work.
TEST_F(RunEngineTest, HostileWordsEndTheAgentThatSaysThemAndNothingElse) {
  v1::AgentMessage started;
  started.mutable_started();
  v1::AgentMessage expanding = BatchOf(1, 8'000);
  auto& records = *expanding.mutable_batch()->mutable_records();
  records.add_texts(std::string(1 << 20, 'x'));  // 8 GB when it is unpacked
  for (int i = 0; i < records.index_delta_size(); ++i) records.add_error_ref(1);
  v1::AgentMessage late = BatchOf(1, 1);
  late.mutable_batch()->mutable_records()->set_start_base_us(std::numeric_limits<int64_t>::max());
  v1::AgentMessage early = late;
  early.mutable_batch()->mutable_records()->set_start_base_us(std::numeric_limits<int64_t>::min());
  const std::vector<v1::AgentMessage> words = {started,
                                               BatchOf(5, 1),
                                               BatchOf(std::numeric_limits<uint64_t>::max(), 1),
                                               expanding,
                                               late,
                                               early,
                                               BatchOf(1, kMaxBatchRecords + 1)};
  for (size_t i = 0; i < words.size(); ++i) {
    agents_.clear();
    std::filesystem::remove(folder_.File("records.db"));
    Add(AfterTheEndOf(agents_, 1));
    Add({.first_words = {words[i]}});
    const EngineResult result = Run(200);
    ExpectComplete(result, 200);
    EXPECT_TRUE(result.agents[1].lost) << i << " " << result.agents[1].trouble;
  }
}

TEST_F(RunEngineTest, AbsurdFiguresAndTextsAreCutToSize) {
  v1::AgentMessage progress;
  v1::Progress& p = *progress.mutable_progress();
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  p.mutable_target()->set_user_us(most);
  p.mutable_target()->set_system_us(most);
  p.mutable_target()->set_peak_rss_bytes(most);
  p.set_stalled_us(most);
  p.set_agent_cpu_us(most);
  p.set_engine_cpu_us(most);
  p.set_surplus_lines(most);
  p.set_in_flight(std::numeric_limits<uint32_t>::max());
  p.set_steal_permille(std::numeric_limits<uint32_t>::max());
  p.set_clock_us(std::numeric_limits<int64_t>::min());
  v1::AgentMessage failed;
  failed.mutable_failed()->set_code(-77);
  failed.mutable_failed()->set_message("\x1b[2J" + std::string(8 << 20, 'x'));
  Add(AfterTheEndOf(agents_, 1));
  Add({.first_words = {progress, progress, failed}});
  const EngineResult result = Run(200);
  ExpectComplete(result, 200);
  EXPECT_TRUE(result.agents[1].lost);
  EXPECT_LE(result.agents[1].trouble.size(), kMaxPeerTextBytes + 200);
  EXPECT_THAT(result.agents[1].trouble, ::testing::Not(HasSubstr("\x1b")));
  EXPECT_LE(result.agents[1].peak_rss_bytes, kMaxPeerNumber);
}

TEST_F(RunEngineTest, ATargetThatCrashesEndsTheRunIncomplete) {
  v1::AgentMessage failed;
  failed.mutable_failed()->set_code(13);
  failed.mutable_failed()->set_message("target fake was ended by signal 11");
  Add({.instead_of_batch = failed});
  const EngineResult result = Run(100);
  EXPECT_EQ(result.end.end, RunEnd::kIncomplete);
  EXPECT_THAT(result.end.reason, HasSubstr("signal 11"));
}

TEST_F(RunEngineTest, RecordsOfUrlsNeverLentAreRefused) {
  Add({.answer = [](uint64_t index, const std::string&) {
    Record r;
    r.index = index % 2 == 0 ? index : index + 1'000'000;
    r.outcome = Outcome::kDnsNotFound;
    return std::optional(r);
  }});
  const EngineResult result =
      Run(100, [](RunEngine& engine) { engine.Stop(RunEnd::kDuration, "enough"); });
  EXPECT_EQ(result.committed, static_cast<uint64_t>(Rows()));
  EXPECT_TRUE(result.counts.Balanced());
}

TEST_F(RunEngineTest, StopCancelsAgentsAndKeepsWhatIsThere) {
  const FakeAgent& agent = Add({.answer = [](uint64_t index, const std::string&) {
    if (index % 2 == 1) return std::optional<Record>();
    Record r;
    r.index = index;
    r.outcome = Outcome::kDnsNotFound;
    return std::optional(r);
  }});
  // Half of the URLs are never answered, so the run cannot end by itself.
  const EngineResult result =
      Run(400, [](RunEngine& engine) { engine.Stop(RunEnd::kInterrupted, "stopped by the user"); });
  EXPECT_EQ(result.end.end, RunEnd::kInterrupted);
  EXPECT_TRUE(agent.cancelled());
  EXPECT_EQ(result.committed, result.counts.recorded);
  EXPECT_TRUE(result.counts.Balanced());
}

TEST_F(RunEngineTest, StopDoesNotWaitForAnAgentThatIgnoresIt) {
  Add({.answer = [](uint64_t, const std::string&) { return std::optional<Record>(); },
       .ignore_cancel = true});
  const SteadyTime begin = std::chrono::steady_clock::now();
  const EngineResult result =
      Run(400, [](RunEngine& engine) { engine.Stop(RunEnd::kInterrupted, "stopped by the user"); });
  EXPECT_EQ(result.end.end, RunEnd::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_THAT(result.may_be_busy, ElementsAre(0u));
}

FakeAgentScript WithoutAnAnswer() {
  return {.answer = [](uint64_t, const std::string&) { return std::optional<Record>(); }};
}

void StopIt(RunEngine& engine) { engine.Stop(RunEnd::kInterrupted, "stopped by the user"); }

TEST_F(RunEngineTest, AnAgentThatWasStillStartingIsNotLostByAStop) {
  Add(WithoutAnAnswer());
  // Longer than the fixture waits for agents to be reached.
  Add({.slow_first_start = milliseconds(2'500)});
  const EngineResult result = Run(10, StopIt);
  EXPECT_EQ(result.end.end, RunEnd::kInterrupted);
  ASSERT_EQ(result.agents.size(), 2u);
  EXPECT_FALSE(result.agents[1].lost) << result.agents[1].trouble;
  EXPECT_EQ(result.agents[1].trouble, "");
}

TEST_F(RunEngineTest, AnAgentThatCouldNotBeReachedIsLostAlsoWhenTheRunIsStopped) {
  Add(WithoutAnAnswer());
  further_addresses_ = {"127.0.0.1:1"};
  const EngineResult result = Run(10, StopIt);
  EXPECT_EQ(result.end.end, RunEnd::kInterrupted);
  ASSERT_EQ(result.agents.size(), 2u);
  EXPECT_TRUE(result.agents[1].lost);
}

Task<absl::Status> WaitForStop(std::function<bool()> stopped) {
  net::steady_timer timer(co_await net::this_coro::executor);
  while (!stopped()) {
    timer.expires_after(milliseconds(10));
    co_await timer.async_wait(kAsTuple);
  }
  co_return absl::CancelledError("stopped by the user");
}

// Else the loop would go on for as long as the agent is asked.
TEST_F(RunEngineTest, AnAgentThatIsHeardAndGivesNoRecordIsGivenUp) {
  options_.timeout_us = 100'000;
  options_.record_grace = milliseconds(300);
  const FakeAgent& agent =
      Add({.answer = [](uint64_t, const std::string&) { return std::optional<Record>(); }});
  const EngineResult result = Run(10);
  EXPECT_EQ(result.end.end, RunEnd::kIncomplete);
  EXPECT_THAT(result.end.reason, HasSubstr("gave no record"));
  EXPECT_TRUE(result.agents[0].lost);
  EXPECT_EQ(result.counts.taken_back, 10u) << "they were there for others";
  EXPECT_EQ(agent.starts().size(), 1u) << "it is not dialled again";
  EXPECT_THAT(result.may_be_busy, ElementsAre(0u));
}

TEST_F(RunEngineTest, AStopEndsTheReleaseOfAnAgent) {
  Add();
  Add({.refuse = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "busy with run R since T")});
  release_ = [](const AgentEndpoint& /*agent*/, std::function<bool()> stopped) {
    return WaitForStop(std::move(stopped));
  };
  const EngineResult result =
      Run(10, [](RunEngine& engine) { engine.Stop(RunEnd::kInterrupted, "stopped by the user"); });
  EXPECT_EQ(result.end.end, RunEnd::kInterrupted);
}

TEST_F(RunEngineTest, WhoseLastWordIsWaitedForIsSaid) {
  Add();
  Add({.no_last_word = true});
  options_.finish_wait = RunEngine::kAloneIsNews + milliseconds(1000);
  SetUpLog("test", "warn", "text").IgnoreError();
  std::ostringstream log;
  const LogRedirection redirection(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  const EngineResult result = Run(10);
  EXPECT_EQ(result.end.end, RunEnd::kComplete);
  EXPECT_THAT(log.str(), AllOf(HasSubstr("every URL has its record"),
                               HasSubstr("for the last word of " + agents_[1]->address()),
                               Not(HasSubstr(agents_[0]->address()))));
}

TEST_F(RunEngineTest, InvalidLinesAreRecordsWithoutAnAgent) {
  Add();
  std::vector<std::vector<uint64_t>> partitions{{1}};
  spool_ = std::make_unique<MemorySpool>(std::move(partitions), 16);
  net::io_context loop(1);
  const auto drive = [&]() -> Task<> {
    const std::shared_ptr<RunEngine> engine =
        *RunEngine::Create(loop.get_executor(), clock_, options_, folder_.File("records.db"));
    CommitBatch batch;
    Record invalid;
    invalid.outcome = Outcome::kInvalidUrl;
    batch.Add(invalid, "https://");
    bool taken = false;
    engine->AddInvalid(std::move(batch), [&taken] { taken = true; });
    EXPECT_TRUE(taken);
    engine->Connect({{.address = agents_[0]->address(), .name = "a"}}, "boot", v1::Start());
    const absl::Status connected = co_await RunEngine::WaitConnected(engine, milliseconds(5000));
    EXPECT_TRUE(connected.ok());
    engine->Feed(2, 1, spool_->remaining(), [this](uint32_t p) { return spool_->Take(p); });
    const EngineEnd end = co_await RunEngine::WaitEnd(engine);
    EXPECT_EQ(end.end, RunEnd::kComplete);
    EXPECT_EQ(engine->committed(), 2u);
    const absl::Status closed = (co_await RunEngine::CloseStore(engine, true)).store;
    EXPECT_TRUE(closed.ok()) << closed;
  };
  net::co_spawn(loop, drive(), [](std::exception_ptr) {});
  loop.run();
  EXPECT_EQ(Rows(), 2);
}

}  // namespace
}  // namespace fetchbench::coordinator
