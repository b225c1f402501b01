// The whole daemon in this process: real gRPC over a Unix socket or TCP, real children (the
// scripted target).

#include "agent/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/grpc_options.h"
#include "tests/support/agent_client.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using test::Drive;
using test::MakeStart;
using test::MakeUrls;
using test::RunResult;
using test::RunStream;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string MakeFolder() {
  std::string name = std::filesystem::temp_directory_path() / "fetchbench-agent-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

class AgentServerTest : public ::testing::Test {
 protected:
  AgentServerTest() {
    signal(SIGPIPE, SIG_IGN);
    config_.version = "1.2.3";
    config_.native_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                          "fetchbench-scripted-target";
    config_.start_patience = milliseconds(500);
    config_.host.set_hostname("here");
  }
  ~AgentServerTest() override {
    stub_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Serve(const std::string& listen) {
    auto server = AgentServer::Start(config_, listen);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
    stub_ = MakeStub();
  }
  void Serve() { Serve("unix:" + folder_ + "/agent.sock"); }

  std::unique_ptr<v1::Agent::Stub> MakeStub() const {
    return v1::Agent::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }

  // One run from Start to its end.
  RunResult Run(const v1::Start& start, const std::vector<std::string>& urls) {
    RunStream stream(*stub_, start);
    return Drive(stream, urls);
  }
  RunResult Run(const std::string& script, size_t urls) {
    return Run(MakeStart("r", script), MakeUrls(urls));
  }

  v1::DescribeResponse Describe() {
    grpc::ClientContext context;
    v1::DescribeResponse response;
    EXPECT_TRUE(stub_->Describe(&context, {}, &response).ok());
    return response;
  }

  void WaitUntilFree() {
    for (int i = 0; i < 1'000 && !Describe().busy_run_id().empty(); ++i) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_EQ(Describe().busy_run_id(), "");
  }

  // A shell script to stand in for a target's program.
  std::string Script(const std::string& name, const std::string& commands) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }

  static size_t Count(const RunResult& result, Outcome outcome) {
    size_t n = 0;
    for (const auto& [index, record] : result.records) n += record.outcome == outcome ? 1 : 0;
    return n;
  }

  const std::string folder_ = MakeFolder();
  AgentConfig config_;
  std::unique_ptr<AgentServer> server_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

TEST_F(AgentServerTest, EveryUrlGetsOneRecord) {
  Serve();
  const RunResult r = Run("", 5'000);
  EXPECT_TRUE(r.status.ok()) << r.status.error_message();
  EXPECT_THAT(r.records, SizeIs(5'000));
  EXPECT_EQ(r.repeated, 0);
  EXPECT_FALSE(r.seq_gap);
  ASSERT_TRUE(r.finished.has_value());
  EXPECT_EQ(r.finished->records(), 5'000);
  EXPECT_EQ(r.finished->last_seq(), r.last_seq);
  EXPECT_EQ(r.finished->target_exit_code(), 0);
  EXPECT_EQ(r.started->target().name(), "scripted");
  EXPECT_EQ(r.started->host().hostname(), "here");
  EXPECT_GT(r.started->host().clock_us(), 0);
  EXPECT_FALSE(r.started->resumed());
  EXPECT_EQ(Describe().busy_run_id(), "");
}

TEST_F(AgentServerTest, WorksOverTcpAndRunsFollowEachOther) {
  Serve("127.0.0.1:0");
  EXPECT_THAT(server_->address(), HasSubstr("127.0.0.1:"));
  for (int i = 0; i < 5; ++i) {
    const RunResult r = Run(MakeStart(fmt::format("run{}", i)), MakeUrls(300));
    EXPECT_TRUE(r.finished.has_value()) << r.status.error_message();
    EXPECT_THAT(r.records, SizeIs(300));
  }
}

TEST_F(AgentServerTest, RunWithoutUrlsFinishes) {
  Serve();
  const RunResult r = Run("", 0);
  ASSERT_TRUE(r.finished.has_value()) << r.status.error_message();
  EXPECT_EQ(r.finished->records(), 0);
}

TEST_F(AgentServerTest, JsonLinesCarryTheirDetails) {
  Serve();
  const RunResult r = Run("jsonl", 10);
  ASSERT_THAT(r.records, SizeIs(10));
  EXPECT_EQ(r.records.at(3).connect_us, 300);
  EXPECT_EQ(r.records.at(3).http_version, "1.1");
}

TEST_F(AgentServerTest, SameUrlManyTimesIsManyRecords) {
  Serve();
  const RunResult r = Run(MakeStart("r"), std::vector<std::string>(1'000, "https://same.test/"));
  EXPECT_THAT(r.records, SizeIs(1'000));
  EXPECT_EQ(r.repeated, 0);
}

TEST_F(AgentServerTest, NoiseIsCountedAndStopsNothing) {
  Serve();
  const RunResult r = Run("garbage=3 twice unasked long-line=104857600", 200);
  EXPECT_THAT(r.records, SizeIs(200));
  ASSERT_TRUE(r.finished.has_value());
  EXPECT_EQ(r.finished->unparsable_lines(), 3 * 200 + 1);
  EXPECT_EQ(r.finished->surplus_lines(), 201);
}

TEST_F(AgentServerTest, ProgressTellsHowItGoes) {
  Serve();
  const RunResult r = Run("slow=10", 60);
  ASSERT_TRUE(r.last_progress.has_value());
  EXPECT_GT(r.last_progress->started(), 0);
  EXPECT_GT(r.last_progress->target().rss_bytes(), 0);
  EXPECT_GT(r.last_progress->agent_rss_bytes(), 0);
  EXPECT_GT(r.last_progress->clock_us(), 1'700'000'000'000'000);
}

class TargetDeathTest : public AgentServerTest,
                        public ::testing::WithParamInterface<const char*> {};

TEST_P(TargetDeathTest, EveryUrlThatItHadGetsARecordAndTheAgentStaysWell) {
  config_.limits.hang_grace = milliseconds(300);
  config_.limits.terminate_grace = milliseconds(200);
  Serve();
  v1::Start start = MakeStart("r", GetParam());
  start.mutable_options()->set_timeout_ms(200);
  const RunResult r = Run(start, MakeUrls(50));
  ASSERT_TRUE(r.failed.has_value()) << r.status.error_message();
  EXPECT_EQ(Count(r, Outcome::kStatus), 20);
  EXPECT_EQ(Count(r, Outcome::kClientCrashed), 30) << r.failed->message();
  EXPECT_EQ(r.failed->totals().records(), 50);
  EXPECT_THAT(r.failed->message(), HasSubstr("target native"));
  EXPECT_THAT(Run("", 20).records, SizeIs(20));
}

INSTANTIATE_TEST_SUITE_P(Ways, TargetDeathTest,
                         ::testing::Values("kill-after=20", "exit-after=20", "quit-after=20",
                                           "hang-after=20", "hang-after=20 ignore-term"));

TEST_F(AgentServerTest, TargetThatReadsNothingIsKilled) {
  config_.limits.hang_grace = milliseconds(200);
  Serve();
  v1::Start start = MakeStart("r", "deaf");
  start.mutable_options()->set_timeout_ms(100);
  const std::string url = "https://a.test/" + std::string(10'000, 'x');
  const RunResult r = Run(start, std::vector<std::string>(60, url));
  ASSERT_TRUE(r.failed.has_value());
  EXPECT_EQ(r.failed->code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GT(r.records.size(), 0) << "what it was given";
}

TEST_F(AgentServerTest, HalfLineAtTheEndIsNoRecord) {
  Serve();
  const RunResult r = Run("half-line", 10);
  ASSERT_TRUE(r.finished.has_value()) << "every URL was answered before";
  EXPECT_EQ(r.finished->target_exit_code(), 1);
  EXPECT_EQ(r.finished->unparsable_lines(), 1);
}

TEST_F(AgentServerTest, TargetThatStaysIsEnded) {
  config_.limits.exit_grace = milliseconds(200);
  config_.limits.terminate_grace = milliseconds(200);
  Serve();
  EXPECT_EQ(Run("stay", 10).finished->target_exit_code(), -SIGTERM);
  EXPECT_EQ(Run("stay ignore-term", 10).finished->target_exit_code(), -SIGKILL);
}

TEST_F(AgentServerTest, ChildThatTheTargetLeftBehindDelaysNothing) {
  Serve();
  const RunResult r = Run("orphan", 10);
  EXPECT_THAT(r.records, SizeIs(10));
  EXPECT_TRUE(r.finished.has_value());
}

TEST_F(AgentServerTest, TargetsLastWordsArriveThoughTheyAreNoText) {
  Serve();
  const RunResult r = Run("bad-utf8 exit-after=0", 10);
  ASSERT_TRUE(r.failed.has_value()) << r.status.error_message();
  EXPECT_THAT(r.failed->target_stderr(),
              AllOf(HasSubstr("bytes ?? of no text"), HasSubstr("segmentation")));
  EXPECT_THAT(r.records.at(0).error, HasSubstr("segmentation of my memory"));
}

TEST_F(AgentServerTest, OptionsReachTheTarget) {
  Serve();
  v1::Start start = MakeStart("r", "tell");
  start.mutable_options()->set_ca_pem("A CERTIFICATE");
  start.mutable_options()->add_connect_to(":443::8443");
  const RunResult r = Run(start, MakeUrls(1));
  EXPECT_THAT(r.finished->target_stderr(),
              AllOf(HasSubstr("arg :443::8443\n"), HasSubstr("ca A CERTIFICATE\n"),
                    HasSubstr("arg jsonl\n")));
}

TEST_F(AgentServerTest, CancelKeepsWhatTheTargetStillSays) {
  Serve();
  RunStream stream(*stub_, MakeStart("r", "slow=20 cancels"));
  size_t next = 0;
  const auto urls = MakeUrls(1'000);
  Drive(stream, urls, next, [](const RunResult& r) { return !r.records.empty(); });
  stream.SendCancel();
  const RunResult r = Drive(stream, urls, next);
  ASSERT_TRUE(r.finished.has_value()) << r.status.error_message();
  EXPECT_EQ(r.finished->target_exit_code(), 143);
  EXPECT_EQ(Count(r, Outcome::kCancelled), 1);
  EXPECT_LT(r.records.size(), 1'000);
}

TEST_F(AgentServerTest, CancelKillsATargetThatDoesNotListen) {
  config_.limits.terminate_grace = milliseconds(200);
  Serve();
  RunStream stream(*stub_, MakeStart("r", "ignore-term unasked deaf"));
  while (const auto message = stream.ReadUntil(v1::AgentMessage::kProgress)) {
    if (message->progress().surplus_lines() > 0) break;  // by now it ignores the signal
  }
  stream.SendCancel();
  EXPECT_EQ(Drive(stream, MakeUrls(10)).finished->target_exit_code(), -SIGKILL);
}

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

TEST_F(AgentServerTest, ReconnectNeitherLosesNorDoublesRecords) {
  Serve();
  const auto urls = MakeUrls(3'000);
  size_t next = 0;
  std::map<uint64_t, Record> all;
  uint64_t committed = 0;
  bool finished = false;
  for (int life = 0; life < 50 && !finished; ++life) {
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
    EXPECT_FALSE(r.seq_gap);
    EXPECT_EQ(r.started->resumed(), life > 0);
    committed = std::max(committed, r.last_seq);
    for (const auto& [index, record] : r.records) {
      EXPECT_TRUE(all.try_emplace(index, record).second) << "index " << index << " came twice";
    }
    finished = r.finished.has_value();
    stream.Abort();
    // A lease that was not received is sent again.
    if (!finished) {
      RunStream peek(*stub, [&] {
        v1::Start again = start;
        again.set_last_committed_seq(committed);
        return again;
      }());
      const auto started = peek.ReadUntil(v1::AgentMessage::kStarted);
      ASSERT_TRUE(started.has_value()) << peek.End().error_message();
      EXPECT_TRUE(started->started().resumed());
    }
  }
  EXPECT_TRUE(finished);
  EXPECT_THAT(all, SizeIs(urls.size()));
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

// Hostile peers.

v1::CoordinatorMessage LeaseMessage(const std::function<void(v1::Lease&)>& change) {
  v1::CoordinatorMessage message;
  v1::Lease& lease = *message.mutable_lease();
  lease.set_lease_id(1);
  for (int i = 0; i < 3; ++i) {
    lease.add_index_delta(1);
    lease.add_url(fmt::format("https://u{}.test/", i));
  }
  change(lease);
  return message;
}

TEST_F(AgentServerTest, MalformedLeasesFailTheRunAndNotTheAgent) {
  Serve();
  const std::vector<v1::CoordinatorMessage> bad = {
      LeaseMessage([](v1::Lease& l) { l.add_url("https://more.test/"); }),
      LeaseMessage([](v1::Lease& l) { l.add_index_delta(1); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(1, 0); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(0, -5); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(2, INT64_MAX); }),
      v1::CoordinatorMessage(),
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    RunStream stream(*stub_, MakeStart(fmt::format("bad{}", i)));
    stream.Send(bad[i]);
    const RunResult r = Drive(stream, MakeUrls(10));
    ASSERT_TRUE(r.failed.has_value()) << i << ": " << r.status.error_message();
    EXPECT_EQ(r.failed->code(), static_cast<int>(absl::StatusCode::kInvalidArgument))
        << r.failed->message();
  }
  EXPECT_THAT(Run("", 5).records, SizeIs(5));
}

TEST_F(AgentServerTest, InventedAckAndSecondStartFailTheRun) {
  Serve();
  {
    RunStream stream(*stub_, MakeStart("ack"));
    stream.SendAck(12'345);
    EXPECT_THAT(Drive(stream, MakeUrls(10)).failed->message(), HasSubstr("batch 12345"));
  }
  RunStream stream(*stub_, MakeStart("start"));
  stream.SendStart(MakeStart("start"));
  EXPECT_THAT(Drive(stream, MakeUrls(10)).failed->message(), HasSubstr("Start came twice"));
}

TEST_F(AgentServerTest, FirstMessageMustBeAnAcceptableStart) {
  Serve();
  const auto answer = [this](const std::function<void(v1::CoordinatorMessage&)>& change) {
    grpc::ClientContext context;
    const auto stream = stub_->Execute(&context);
    v1::CoordinatorMessage message;
    *message.mutable_start() = MakeStart("r");
    change(message);
    stream->Write(message);
    v1::AgentMessage in;
    while (stream->Read(&in)) {
    }
    return stream->Finish();
  };
  using M = v1::CoordinatorMessage;
  const std::vector<std::function<void(M&)>> bad = {
      [](M& m) { m.mutable_finish(); },
      [](M& m) { m.mutable_ack(); },
      [](M& m) { m.Clear(); },
      [](M& m) { m.mutable_start()->clear_run_id(); },
      [](M& m) { m.mutable_start()->set_run_id(std::string(10'000, 'r')); },
      [](M& m) { m.mutable_start()->mutable_options()->set_concurrency(0); },
      [](M& m) { m.mutable_start()->mutable_options()->set_concurrency(UINT32_MAX); },
      [](M& m) { m.mutable_start()->mutable_options()->set_timeout_ms(UINT32_MAX); },
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(answer(bad[i]).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
  }
  const grpc::Status unknown =
      answer([](M& m) { m.mutable_start()->mutable_target()->set_name("nativ"); });
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), AllOf(HasSubstr("'nativ'"), HasSubstr("offers native")));
}

TEST_F(AgentServerTest, StreamThatSaysNothingIsEnded) {
  Serve();
  grpc::ClientContext context;
  const auto stream = stub_->Execute(&context);
  v1::AgentMessage in;
  EXPECT_FALSE(stream->Read(&in));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(AgentServerTest, GiantAndUnusualUrlsPassOrAreRecords) {
  Serve();
  const std::vector<std::string> urls = {"https://a.test/" + std::string(1'000'000, 'x'),
                                         "https://b.test/a,b,c?d=1,2",
                                         "https://c.test/\xff\xfe",
                                         "https://d.test/\nGET / HTTP/1.1",
                                         "",
                                         "{\"url\":\"x\"}",
                                         "https://e.test/\"quoted\""};
  const RunResult r = Run(MakeStart("r"), urls);
  ASSERT_THAT(r.records, SizeIs(urls.size()))
      << (r.failed ? r.failed->message() : r.status.error_message());
  EXPECT_EQ(r.records.at(0).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(1).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(2).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(3).outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(r.records.at(4).outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(r.records.at(6).outcome, Outcome::kStatus);
}

TEST_F(AgentServerTest, TargetThatIsNotThereIsSaidWithItsPathAndWhatToDo) {
  config_.native_path = "/no/such/native";
  Serve();
  const RunResult r = Run("", 1);
  EXPECT_EQ(r.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(r.status.error_message(), AllOf(HasSubstr("/no/such/native"), HasSubstr("--native")));
  EXPECT_EQ(Describe().busy_run_id(), "");
  EXPECT_THAT(Describe().targets(), IsEmpty());
}

TEST_F(AgentServerTest, PrepareTellsWhatTheTargetIs) {
  Serve();
  const auto prepare = [this](const std::string& name, std::vector<v1::PrepareProgress>& all) {
    grpc::ClientContext context;
    v1::PrepareRequest request;
    request.mutable_target()->set_name(name);
    const auto reader = stub_->Prepare(&context, request);
    v1::PrepareProgress progress;
    while (reader->Read(&progress)) all.push_back(progress);
    return reader->Finish();
  };
  for (int i = 0; i < 2; ++i) {
    std::vector<v1::PrepareProgress> all;
    EXPECT_TRUE(prepare("native", all).ok());
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_FALSE(all[0].ready());
    EXPECT_TRUE(all[1].ready());
    EXPECT_EQ(all[1].facts().version(), "1.2");
  }
  std::vector<v1::PrepareProgress> none;
  EXPECT_EQ(prepare("rust/reqwest", none).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AgentServerTest, DescribeSaysWhatItIs) {
  Serve();
  const v1::DescribeResponse d = Describe();
  EXPECT_EQ(d.version(), "1.2.3");
  EXPECT_EQ(d.host().hostname(), "here");
  EXPECT_THAT(d.targets(), Contains("native"));
}

TEST_F(AgentServerTest, StopEndsARunUnderWayQuickly) {
  Serve();
  RunStream stream(*stub_, MakeStart("r", "deaf ignore-term"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  std::thread stopper([this] { server_->Stop(); });
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopper.join();
}

TEST_F(AgentServerTest, StopWaitsForNoTargetThatDescribesItselfForEver) {
  config_.native_path = Script("endless", "exec sleep 600");
  config_.describe_patience = std::chrono::hours(1);
  Serve();
  grpc::ClientContext context;
  v1::PrepareRequest request;
  request.mutable_target()->set_name("native");
  const auto reader = stub_->Prepare(&context, request);
  v1::PrepareProgress progress;
  ASSERT_TRUE(reader->Read(&progress));
  server_->Stop();
  EXPECT_FALSE(reader->Read(&progress));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AgentServerTest, SocketFolderMustBePrivate) {
  const std::string open_folder = folder_ + "/open";
  ASSERT_EQ(mkdir(open_folder.c_str(), 0755), 0);
  chmod(open_folder.c_str(), 0755);
  const absl::Status s = AgentServer::Start(config_, "unix:" + open_folder + "/s").status();
  EXPECT_EQ(s.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(s.message()), HasSubstr("0755"));
  Serve("unix:" + folder_ + "/made/s");
  struct stat info {};
  ASSERT_EQ(stat((folder_ + "/made").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  EXPECT_EQ(AgentServer::Start(config_, "unix:" + folder_ + "/made/s").status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(AgentServerTest, PortInUseIsSaid) {
  Serve("127.0.0.1:0");
  const absl::Status s = AgentServer::Start(config_, server_->address()).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(s.message()), HasSubstr(server_->address()));
}

}  // namespace
}  // namespace fetchbench::agent
