// Small pure parts of a run: ids, folders, CPU places, ledgers, the origin's figures, agents' rows.

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>

#include "coordinator/fleet/peer_text.h"
#include "coordinator/host/placement.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/record_watch.h"
#include "coordinator/run/run_folder.h"
#include "coordinator/run/run_report.h"
#include "coordinator/run/run_setup.h"
#include "coordinator/web/origin_client.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::TempFolder;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBootId[] = "0123456789abcdef";  // of the coordinator's host

TEST(RunIdTest, IsTheTimeAndARandomEnd) {
  EXPECT_EQ(MakeRunId(1'769'903'999'999'999, 0xabcdef12), "20260131T235959Z-cdef12");
}

TEST(RunFolderTest, LatestPointsAtTheNewestRun) {
  const TempFolder folder;
  for (const char* id : {"one", "two"}) {
    const auto run = RunFolder::Create(folder.File("out"), id);
    ASSERT_TRUE(run.ok()) << run.status();
    ASSERT_TRUE(run->Write("run.json", id).ok());
    EXPECT_EQ(folder.Read("out/latest/run.json"), id);
  }
}

TEST(RunFolderTest, OneThatIsDiscardedGivesBackLatest) {
  const TempFolder folder;
  const auto latest = [&folder] {
    return std::filesystem::read_symlink(folder.File("out/latest")).string();
  };
  const auto one = RunFolder::Create(folder.File("out"), "one");
  const auto two = RunFolder::Create(folder.File("out"), "two");
  const auto three = RunFolder::Create(folder.File("out"), "three");
  two->Discard();
  EXPECT_FALSE(std::filesystem::exists(two->path()));
  EXPECT_EQ(latest(), "three") << "a later run has taken it since";
  three->GiveBackLatest();
  EXPECT_TRUE(std::filesystem::exists(three->path()));
  EXPECT_FALSE(std::filesystem::is_symlink(folder.File("out/latest"))) << "there is no run two";
  const auto four = RunFolder::Create(folder.File("out"), "four");
  RunFolder::Create(folder.File("out"), "five")->Discard();
  EXPECT_EQ(latest(), "four");
}

TEST(RunFolderTest, OneThatCannotBeTheLatestIsNotLeftBehind) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.File("out/latest/of somebody"));
  EXPECT_THAT(std::string(RunFolder::Create(folder.File("out"), "one").status().message()),
              HasSubstr("out/latest"));
  const std::filesystem::directory_iterator left(folder.File("out"));
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST(RunFolderTest, NeverTakesAnotherRunsFolder) {
  const TempFolder folder;
  ASSERT_TRUE(RunFolder::Create(folder.path(), "one").ok());
  EXPECT_THAT(std::string(RunFolder::Create(folder.path(), "one").status().message()),
              HasSubstr("exists"));
}

TEST(RunFolderTest, SaysWhatCannotBeCreated) {
  EXPECT_THAT(std::string(RunFolder::Create("/proc/x", "one").status().message()),
              HasSubstr("/proc/x"));
}

TEST(PlacementTest, GivesTheTargetTheLastCpuAlone) {
  const Placement place = Place({0, 2, 3, 5});
  EXPECT_THAT(place.target, ElementsAre(5));
  EXPECT_THAT(place.others, ElementsAre(0, 2, 3));
  EXPECT_THAT(AllCpusOf(place), ElementsAre(0, 2, 3, 5));
  EXPECT_TRUE(Place({0}).target.empty());
  EXPECT_TRUE(Place({}).others.empty());
}

TEST(PlacementTest, WritesCpuListsAsTheKernelDoes) {
  EXPECT_EQ(CpuListText({0, 2, 3, 4, 7}), "0,2-4,7");
  EXPECT_EQ(CpuListText({}), "");
}

TEST(LedgerTest, CountsWhatHasNoRecordAsNeverStarted) {
  LeaseCounts counts;
  counts.total = 10;
  counts.recorded = 4;
  counts.in_spool = 3;
  counts.waiting = 1;
  counts.lent = 2;
  const Ledger ledger = MakeLedger({.lines = 10, .urls = 10, .invalid = 0}, counts, 4);
  EXPECT_TRUE(ledger.Balanced());
  EXPECT_EQ(ledger.never_started, 6u);
}

TEST(LedgerTest, DoesNotBalanceWhenACommitIsMissing) {
  LeaseCounts counts;
  counts.total = counts.recorded = 10;
  EXPECT_FALSE(MakeLedger({.lines = 10, .urls = 10, .invalid = 0}, counts, 9).Balanced());
}

TEST(LedgerTest, BalancesBeforeAnythingWasLent) {
  EXPECT_TRUE(MakeLedger({.lines = 10, .urls = 10, .invalid = 3}, std::nullopt, 3).Balanced());
}

TEST(OriginStatisticsTest, AreReadAndRubbishIsRefused) {
  const auto json = boost::json::parse(
      R"({"run":"r","dns_queries":5,"connections":4,"tls_handshakes":3,"requests":7,
          "responses":{"200":6,"404":1},"most_in_flight":2,"most_requests_of_a_host":1,"hosts":4,
          "lateness_us":{"p50":10,"p99":99,"max":120},"cpu_us":1000})");
  const auto statistics = ParseRunStatistics(json.as_object());
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->requests, 7u);
  EXPECT_EQ(statistics->most_requests_of_a_host, 1u);
  EXPECT_EQ(statistics->responses.at(404), 1u);
  EXPECT_EQ(statistics->lateness_p99_us, 99);
  EXPECT_FALSE(ParseRunStatistics(boost::json::object()).ok());
}

TEST(PeerTextTest, WhatAnAgentTellsIsBroughtWithinBounds) {
  v1::AgentMessage message;
  v1::Started& started = *message.mutable_started();
  started.mutable_host()->set_hostname("h\x1b[2J\x7f\xc2\x9b" + std::string(10'000, 'x'));
  started.mutable_host()->set_memory_bytes(std::numeric_limits<uint64_t>::max());
  started.mutable_host()->set_clock_us(std::numeric_limits<int64_t>::min());
  started.mutable_target()->add_libraries(std::string(10'000, '\r'));
  for (int i = 0; i < 5'000; ++i) started.mutable_target()->add_libraries("a");
  for (int i = 0; i < 5'000; ++i) started.add_held_lease_ids(std::numeric_limits<uint64_t>::max());
  started.mutable_target()->add_base_images()->set_reference(std::string(10'000, '\x1b'));
  BoundPeerMessage(message);
  EXPECT_EQ(started.target().base_images(0).reference(), std::string(kMaxPeerTextBytes, '?'));
  EXPECT_THAT(started.host().hostname(), ::testing::StartsWith("h?[2J??x"));
  EXPECT_LE(started.host().hostname().size(), kMaxPeerTextBytes);
  EXPECT_EQ(started.host().memory_bytes(), kMaxPeerNumber);
  EXPECT_EQ(started.host().clock_us(), -static_cast<int64_t>(kMaxPeerNumber));
  EXPECT_EQ(started.target().libraries_size(), kMaxPeerListEntries);
  EXPECT_EQ(started.target().libraries(0), std::string(kMaxPeerTextBytes, '?'));
  EXPECT_EQ(started.held_lease_ids_size(), 5'000);  // each is looked up, none is shown
}

TEST(PeerTextTest, OrdinaryTextStaysAsItIs) {
  v1::AgentMessage message;
  const std::string text = "line one\n\tline two: \xc3\xa4\xe2\x82\xac";
  message.mutable_failed()->set_target_stderr(text);
  message.mutable_failed()->mutable_totals()->set_records(7);
  BoundPeerMessage(message);
  EXPECT_EQ(message.failed().target_stderr(), text);
  EXPECT_EQ(message.failed().totals().records(), 7);
  // Cut between characters, not within one.
  message.mutable_failed()->set_message(std::string(kMaxPeerTextBytes - 1, 'x') + "\xe2\x82\xac");
  BoundPeerMessage(message);
  EXPECT_EQ(message.failed().message(), std::string(kMaxPeerTextBytes - 1, 'x'));
}

TEST(StartTest, RefusesPrivateAddressesOnTheInternetOnly) {
  RunOptions options;
  EXPECT_FALSE(MakeStart("r", options, {}, nullptr).options().deny_private_addresses());
  options.web = Web::kInternet;
  EXPECT_TRUE(MakeStart("r", options, {}, nullptr).options().deny_private_addresses());
  options.allow_private = true;
  EXPECT_FALSE(MakeStart("r", options, {}, nullptr).options().deny_private_addresses());
}

TEST(WebLineTest, SpeaksOfPrivateAddressesOnlyWhereTheyMayBeReached) {
  RunOptions options;
  options.web = Web::kInternet;
  options.target.folder = "lib/cpp/beast";
  EXPECT_THAT(WebLine(options), AllOf(HasSubstr("INTERNET"), Not(HasSubstr("private"))));
  options.allow_private = true;
  EXPECT_THAT(WebLine(options), HasSubstr("private addresses included"));
}

TEST(StartTest, TellsAgentsHowToReachTheSimulatedWeb) {
  SimulatedWeb web;
  web.config.dns = "127.0.0.1:53";
  web.config.connect_to = {":80::1", ":443::2"};
  web.ca_pem = "pem";
  const v1::Start start = MakeStart("r", RunOptions(), {}, &web);
  EXPECT_EQ(start.options().resolver(), "127.0.0.1:53");
  EXPECT_EQ(start.options().connect_to_size(), 2);
  EXPECT_EQ(start.options().ca_pem(), "pem");
}

TEST(RunJsonTest, HoldsOptionsAndAgents) {
  AgentBoard board({"a", "b"}, kBootId, 10);
  v1::Started started;
  started.mutable_host()->set_hostname("host-a");
  board.Started(0, started, 0);
  board.Away(1, absl::UnavailableError("refused"));
  const std::string json = MakeRunJson(RunOptions(), {"id", "out/id", 0, "list"}, nullptr, &board,
                                       nullptr, {{"c", true, 0, 12, "no answer"}});
  EXPECT_THAT(json, HasSubstr("host-a"));
  EXPECT_THAT(json, HasSubstr("refused"));
  EXPECT_THAT(json, Not(HasSubstr("limit")));
  EXPECT_THAT(json, HasSubstr(R"("disturbed_earlier":[{"name":"c","lost":true,"reconnects":0,)"
                              R"("urls_moved":12,"trouble":"no answer"}])"));
}

TEST(RunJsonTest, HoldsWhatTheImageWasBuiltOn) {
  v1::TargetFacts facts;
  facts.set_image_digest("sha256:1");
  v1::BaseImage& pulled = *facts.add_base_images();
  pulled.set_reference("golang:1-alpine");
  pulled.set_image_id("sha256:2");
  pulled.set_digest("sha256:3");
  v1::BaseImage& made_here = *facts.add_base_images();
  made_here.set_reference("fetchbench-base/debian:1");
  made_here.set_image_id("sha256:4");
  AgentBoard board({"a"}, kBootId, 10);
  v1::Started started;
  *started.mutable_target() = facts;
  started.mutable_target()->set_name("go/net-http");
  board.Started(0, started, 0);
  EXPECT_THAT(MakeRunJson(RunOptions(), {"id", "out/id", 0, "list"}, nullptr, &board, nullptr, {}),
              HasSubstr(R"("base_images":[{"reference":"golang:1-alpine","image_id":"sha256:2",)"
                        R"("digest":"sha256:3"},{"reference":"fetchbench-base/debian:1",)"));
  const RunFacts f = MakeFacts(RunOptions(), {"id", "out/id", 0, "list"}, nullptr, &board, nullptr);
  EXPECT_EQ(f.base_images, (std::vector<std::string>{"golang:1-alpine@sha256:3",
                                                     "fetchbench-base/debian:1 (image sha256:4)"}));
}

TEST(AgentBoardTest, CountsReconnectsAndForgivesAnAgentThatReturns) {
  AgentBoard board({"a"}, kBootId, 10);
  board.Started(0, v1::Started(), 0);
  board.Away(0, absl::UnavailableError("broken"));
  EXPECT_EQ(board.state(0), AgentState::kReconnecting);
  board.Lost(0, "grace");
  board.Away(0, absl::UnavailableError("still broken"));
  EXPECT_EQ(board.state(0), AgentState::kLost);
  board.Started(0, v1::Started(), 0);
  EXPECT_EQ(board.state(0), AgentState::kRunning);
  EXPECT_EQ(board.Summaries()[0].reconnects, 1u);
  EXPECT_FALSE(board.Summaries()[0].lost);
}

TEST(AgentBoardTest, OfAnAgentThatIsBackItSaysWhyItWasAway) {
  AgentBoard board({"a"}, kBootId, 10);
  board.Started(0, v1::Started(), 0);
  board.Away(0, absl::UnavailableError("nothing heard"));
  board.Away(0, absl::UnavailableError("run R is still being started: try again"));
  EXPECT_EQ(board.trouble(0), "run R is still being started: try again");
  board.Started(0, v1::Started(), 0);
  EXPECT_EQ(board.trouble(0), "nothing heard");
}

TEST(AgentBoardTest, TakesTheClockOffsetOfTheFastestReport) {
  AgentBoard board({"far", "here"}, kBootId, 10);
  v1::Started started;
  board.Started(0, started, 0);
  started.mutable_host()->set_boot_id(kBootId);
  board.Started(1, started, 0);
  v1::Progress progress;
  for (const int64_t late : {9'000, 2'000, 5'000}) {
    progress.set_clock_us(1'000'000 - late);
    for (const AgentIndex i : {0u, 1u}) board.Progress(i, progress, SteadyTime(), 1'000'000);
  }
  EXPECT_EQ(board.Summaries()[0].clock_offset_us, -2'000);
  EXPECT_EQ(board.Summaries()[1].clock_offset_us, 0);
}

// Through an SSH tunnel, it has a loopback address.
TEST(AgentBoardTest, AHostOfAnotherBootHasAClockOfItsOwnWhateverItsAddress) {
  AgentBoard board({"127.0.0.1:7311"}, kBootId, 10);
  v1::Started started;
  started.mutable_host()->set_boot_id("another");
  started.mutable_host()->set_clock_us(400'000'000);
  board.Started(0, started, 100'000'000);
  EXPECT_EQ(board.clock_offset_us(0), 300'000'000);
}

TEST(AgentBoardTest, ASlowReportDoesNotHideAClockThatIsAhead) {
  AgentBoard board({"ahead"}, kBootId, 10);
  v1::Progress progress;
  constexpr int64_t kAhead = 100'000;
  for (const int64_t way : {80'000, 1'000, 99'000}) {
    progress.set_clock_us(1'000'000 + kAhead - way);
    board.Progress(0, progress, SteadyTime(), 1'000'000);
  }
  EXPECT_EQ(board.Summaries()[0].clock_offset_us, 99'000);
}

TEST(AgentBoardTest, KnowsTheOffsetFromTheStartAndForgetsItWithALife) {
  AgentBoard board({"far"}, kBootId, 10);
  v1::Started started;
  started.mutable_host()->set_clock_us(400'000'000);
  board.Started(0, started, 100'000'000);
  EXPECT_EQ(board.clock_offset_us(0), 300'000'000);
  // Rebooted, with its clock put right.
  started.mutable_host()->set_clock_us(199'000'000);
  board.Started(0, started, 200'000'000);
  EXPECT_EQ(board.clock_offset_us(0), -1'000'000);
}

TEST(AgentBoardTest, SaysOfAnAgentThatEndedEarlyThatItDid) {
  AgentBoard board({"a", "b"}, kBootId, 10);
  board.Started(0, v1::Started(), 0);
  board.Finished(0, v1::Finished());
  EXPECT_EQ(board.TroublesInWords(), "a: ended early; b: no answer");
}

TEST(AgentBoardTest, ARestartedAgentsCostIsAddedToWhatItHadUsed) {
  AgentBoard board({"a"}, kBootId, 10);
  v1::Started started;
  v1::Progress progress;
  board.Started(0, started, 0);
  progress.mutable_target()->set_user_us(700);
  progress.set_surplus_lines(2);
  board.Progress(0, progress, SteadyTime(seconds(1)), 0);
  board.Started(0, started, 0);  // a new life, which counts from 0
  progress.mutable_target()->set_user_us(100);
  progress.set_surplus_lines(1);
  board.Progress(0, progress, SteadyTime(seconds(2)), 0);
  started.set_resumed(true);  // the same life goes on
  board.Started(0, started, 0);
  progress.mutable_target()->set_user_us(300);
  board.Progress(0, progress, SteadyTime(seconds(3)), 0);
  EXPECT_EQ(board.TotalCost().user_us, 1'000);
  EXPECT_EQ(board.Summaries()[0].surplus_lines, 3u);
}

// With all of it summed up, and the sums added to each other as in reports.
TEST(AgentBoardTest, FiguresBeyondBeliefOfManyLivesStandStill) {
  AgentBoard board({"a", "b"}, kBootId, 10);
  v1::Progress progress;
  progress.mutable_target()->set_user_us(UINT64_MAX);
  progress.mutable_target()->set_system_us(kMaxPeerNumber);
  progress.mutable_target()->set_rss_bytes(kMaxPeerNumber);
  progress.set_agent_cpu_us(kMaxPeerNumber);
  progress.set_engine_cpu_us(kMaxPeerNumber);
  progress.set_stalled_us(kMaxPeerNumber);
  progress.set_surplus_lines(UINT64_MAX);
  constexpr auto kMost = static_cast<int64_t>(kMaxPeerNumber);
  for (int life = 0; life < 3'000; ++life) {
    for (const AgentIndex i : {0u, 1u}) {
      board.Started(i, v1::Started(), 0);
      board.Progress(i, progress, SteadyTime(seconds(1)), 0);
    }
    ASSERT_EQ(board.TotalCost().user_us, kMost) << life;
    ASSERT_EQ(board.TotalTroubles().stalled_us, kMost) << life;
  }
  EXPECT_EQ(board.TotalCost().system_us, kMost);
  EXPECT_EQ(board.TotalCost().agent_cpu_us, kMost);
  EXPECT_EQ(board.TotalCost().engine_cpu_us, kMost);
  EXPECT_EQ(board.TotalCost().peak_rss_bytes_sum, kMaxPeerNumber);
  EXPECT_EQ(board.Summaries()[0].surplus_lines, kMaxPeerNumber);
}

TEST(AgentBoardTest, ATargetThatCrashedIsCountedAndItsSignalKept) {
  AgentBoard board({"a"}, kBootId, 10);
  board.Started(0, v1::Started(), 0);
  v1::Failed last;
  last.mutable_totals()->mutable_target()->set_user_us(900);
  last.mutable_totals()->set_target_exit_code(-11);
  board.Failed(0, absl::InternalError("ended by signal 11"), last);
  EXPECT_EQ(board.TotalCost().user_us, 900);
  EXPECT_EQ(board.Summaries()[0].target_exit_code, -11);
}

TEST(AgentBoardTest, ShowsCpuOfTheLastInterval) {
  AgentBoard board({"a"}, kBootId, 10);
  board.Started(0, v1::Started(), 0);
  v1::Progress progress;
  board.Progress(0, progress, SteadyTime(seconds(1)), 0);
  progress.mutable_target()->set_user_us(500'000);
  board.Progress(0, progress, SteadyTime(seconds(2)), 0);
  EXPECT_DOUBLE_EQ(board.Rows(SteadyTime(seconds(2)))[0].cpu_fraction.value_or(0), 0.5);
}

TEST(RecordWatchTest, CountsOnlyWhileAnAgentOwesARecord) {
  using std::chrono::milliseconds;
  RecordWatch watch(2);
  const SteadyTime begin{};
  watch.Pass(begin, [](AgentIndex) { return true; });
  watch.Pass(begin + milliseconds(400), [](AgentIndex) { return true; });
  EXPECT_EQ(watch.silence(0), milliseconds(400));
  watch.Heard(0);
  watch.Pass(begin + milliseconds(600), [](AgentIndex) { return true; });
  EXPECT_EQ(watch.silence(0), milliseconds(200));
  EXPECT_EQ(watch.silence(1), milliseconds(600));
  watch.Pass(begin + milliseconds(700), [](AgentIndex agent) { return agent == 0; });
  EXPECT_EQ(watch.silence(0), milliseconds(300));
  EXPECT_EQ(watch.silence(1), milliseconds(0));
}

TEST(RecordWatchTest, AStandstillOfOursIsNobodysSilence) {
  RecordWatch watch(1);
  const auto owes = [](AgentIndex) { return true; };
  watch.Pass(SteadyTime{}, owes);
  watch.Pass(SteadyTime{} + std::chrono::hours(1), owes);
  EXPECT_EQ(watch.silence(0), RecordWatch::kLongestStep);
}

TEST(AgentBoardTest, ARunningAgentThatGivesNoRecordSaysSoInItsRow) {
  AgentBoard board({"a"}, "boot", 10);
  board.Started(0, v1::Started(), 0);
  board.NoRecordFor(0, std::chrono::milliseconds(12'400));
  EXPECT_EQ(board.Rows(SteadyTime{})[0].note, "no record for 12 s");
  board.NoRecordFor(0, {});
  EXPECT_EQ(board.Rows(SteadyTime{})[0].note, "");
}

}  // namespace
}  // namespace fetchbench::coordinator
