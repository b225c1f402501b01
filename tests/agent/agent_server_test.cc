// Runs of the daemon that end: well, by cancellation, by the death of a target.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
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
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  // The last one may be of a target that has just given its memory back.
  EXPECT_GT(r.last_progress->target().peak_rss_bytes(), 0);
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
    const auto stream = stub_->Prepare(&context);
    v1::PrepareRequest request;
    request.mutable_start()->mutable_target()->set_name(name);
    stream->Write(request);
    v1::PrepareProgress progress;
    while (stream->Read(&progress)) all.push_back(progress);
    return stream->Finish();
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

TEST_F(AgentServerTest, PrepareWithoutItsStartIsRefused) {
  Serve();
  grpc::ClientContext context;
  const auto stream = stub_->Prepare(&context);
  v1::PrepareRequest request;
  request.set_context("bytes");
  stream->Write(request);
  v1::PrepareProgress progress;
  EXPECT_FALSE(stream->Read(&progress));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AgentServerTest, DescribeSaysWhatItIs) {
  Serve();
  const v1::DescribeResponse d = Describe();
  EXPECT_EQ(d.version(), "1.2.3");
  EXPECT_EQ(d.host().hostname(), "here");
  EXPECT_THAT(d.targets(), Contains("native"));
  EXPECT_GT(d.received_us(), 0);
  EXPECT_LE(d.received_us(), d.host().clock_us());
  EXPECT_EQ(d.certificate_not_after_us(), 0) << "it has none";
}

TEST_F(AgentServerTest, RefusesACoordinatorOfAnotherVersion) {
  Serve();
  v1::Start start = MakeStart("r");
  start.set_version("1.2.4");
  const RunResult r = Run(start, MakeUrls(1));
  EXPECT_EQ(r.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(r.status.error_message(), HasSubstr("1.2.3, the coordinator 1.2.4"));
  EXPECT_THAT(r.status.error_message(), HasSubstr("bin/provision --upgrade"));
  start.set_version("1.2.3");
  EXPECT_TRUE(Run(start, MakeUrls(1)).finished.has_value());
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
  const auto stream = stub_->Prepare(&context);
  v1::PrepareRequest request;
  request.mutable_start()->mutable_target()->set_name("native");
  stream->Write(request);
  v1::PrepareProgress progress;
  ASSERT_TRUE(stream->Read(&progress));
  server_->Stop();
  EXPECT_FALSE(stream->Read(&progress));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
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

// Every process has more than a byte.
TEST_F(AgentServerTest, WhoseMemoryDoesNotFallGivesUpOnce) {
  std::atomic<int> given_up = 0;
  config_.memory_limit_bytes = 1;
  config_.memory_patience = {milliseconds(1), milliseconds(1)};
  config_.give_up = [&given_up] {
    ++given_up;
    given_up.notify_one();
  };
  Serve();
  given_up.wait(0);
  server_->Stop();
  EXPECT_EQ(given_up, 1);
}

TEST_F(AgentServerTest, PortInUseIsSaid) {
  Serve("127.0.0.1:0");
  const absl::Status s = AgentServer::Start(config_, server_->address()).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(s.message()), HasSubstr(server_->address()));
}

}  // namespace
}  // namespace fetchbench::agent
