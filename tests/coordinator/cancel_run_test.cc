// How the runs of many agents are ended. Real gRPC on loopback.

#include "coordinator/run/cancel_run.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/io_thread.h"
#include "coordinator/run/busy_agents.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/loopback_server.h"
#include "tests/support/run_task.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Comes to `count` when so many have asked, all at the same time.
class Meeting {
 public:
  explicit Meeting(size_t count) : missing_(count) {}
  // False: the others did not come while this one waited.
  bool Attend() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_here_.notify_all();
    return all_here_.wait_for(lock, std::chrono::seconds(60), [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  size_t missing_;
};

// Ends a run only once all agents of the meeting were told to end theirs.
class MeetingAgent final : public v1::Agent::Service {
 public:
  explicit MeetingAgent(Meeting& meeting) : meeting_(meeting), server_(*this) {}

  const std::string& address() const { return server_.address(); }
  std::string ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  grpc::Status Execute(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override {
    v1::CoordinatorMessage message;
    std::string run;
    while (stream->Read(&message) && !message.has_cancel()) run = message.start().run_id();
    if (!meeting_.Attend()) return {grpc::StatusCode::ABORTED, "nobody else was asked"};
    {
      const std::lock_guard lock(mutex_);
      ended_ = run;
    }
    v1::AgentMessage last;
    last.mutable_finished();
    stream->Write(last);
    return grpc::Status::OK;
  }

 private:
  Meeting& meeting_;
  mutable std::mutex mutex_;
  std::string ended_;
  test::LoopbackServer server_;
};

TEST(EndRunsTest, AllAreAskedAtOnceAndAnswersKeepTheirOrder) {
  constexpr size_t kAgents = 4;
  Meeting meeting(kAgents);
  std::vector<std::unique_ptr<MeetingAgent>> agents;
  std::vector<BusyAgent> busy;
  for (size_t i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_unique<MeetingAgent>(meeting));
    busy.push_back({{.address = agents[i]->address(), .name = ""}, "run" + std::to_string(i)});
  }
  busy.insert(busy.begin() + 1, {{.address = "127.0.0.1:1", .name = ""}, "gone"});
  const std::vector<absl::Status> results = EndRuns(busy);
  ASSERT_EQ(results.size(), kAgents + 1);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].ok(), i != 1) << i << ": " << results[i];
  }
  for (size_t i = 0; i < kAgents; ++i) EXPECT_EQ(agents[i]->ended(), "run" + std::to_string(i));
}

// Busy with run r. Answers one stream after the other with what it was given, and then that the run
// is ended.
class AnsweringAgent final : public v1::Agent::Service {
 public:
  explicit AnsweringAgent(std::vector<grpc::Status> answers)
      : answers_(std::move(answers)), server_(*this) {}

  const std::string& address() const { return server_.address(); }
  size_t asked() const { return asked_; }
  // Once it has heard so many streams.
  void IsGoneAfter(size_t streams) { gone_after_ = streams; }

  grpc::Status Describe(grpc::ServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                        v1::DescribeResponse* response) override {
    if (asked_ >= gone_after_) return {grpc::StatusCode::UNAVAILABLE, "gone"};
    response->set_busy_run_id("r");
    return grpc::Status::OK;
  }

  grpc::Status Execute(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override {
    v1::CoordinatorMessage message;
    while (stream->Read(&message) && !message.has_cancel()) {
    }
    const size_t mine = asked_++;
    if (mine < answers_.size()) return answers_[mine];
    v1::AgentMessage last;
    last.mutable_finished();
    stream->Write(last);
    return grpc::Status::OK;
  }

 private:
  const std::vector<grpc::Status> answers_;
  std::atomic<size_t> asked_{0};
  std::atomic<size_t> gone_after_{std::numeric_limits<size_t>::max()};
  test::LoopbackServer server_;
};

TEST(EndRunsTest, AnAgentWhoseCoordinatorTookItBackIsAskedAgain) {
  const grpc::Status taken(grpc::StatusCode::ABORTED, "another stream took run r over");
  const AnsweringAgent agent({taken, taken});
  const absl::Status ended = EndRuns({{{.address = agent.address(), .name = ""}, "r"}}).at(0);
  EXPECT_TRUE(ended.ok()) << ended;
}

TEST(EndRunsTest, ARunThatWasOverByThenIsEnded) {
  const AnsweringAgent free({{grpc::StatusCode::NOT_FOUND, "target '': there is none"}});
  const absl::Status ended = EndRuns({{{.address = free.address(), .name = ""}, "r"}}).at(0);
  EXPECT_TRUE(ended.ok()) << ended;
  const AnsweringAgent other({{grpc::StatusCode::PERMISSION_DENIED, "not you"}});
  const absl::Status refused = EndRuns({{{.address = other.address(), .name = ""}, "r"}}).at(0);
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
}

TEST(EndRunsTest, OfNobodyThereIsNothingToEnd) { EXPECT_TRUE(EndRuns({}).empty()); }

// Busy with run r, and says nothing when it is to end it.
class SilentAgent final : public v1::Agent::Service {
 public:
  SilentAgent() : server_(*this) {}

  const std::string& address() const { return server_.address(); }
  bool asked() const { return asked_; }

  grpc::Status Describe(grpc::ServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                        v1::DescribeResponse* response) override {
    response->set_busy_run_id("r");
    return grpc::Status::OK;
  }
  grpc::Status Execute(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override {
    v1::CoordinatorMessage message;
    while (stream->Read(&message)) asked_ = asked_ || message.has_cancel();
    return grpc::Status::OK;
  }

 private:
  std::atomic<bool> asked_{false};
  test::LoopbackServer server_;
};

TEST(ReleaseFromRunTest, EndsWhenTheUserGivesUpThoughTheAgentIsSilent) {
  const SilentAgent agent;
  IoThread loop("release");
  std::function<bool()> stopped = [&agent] { return agent.asked(); };
  const absl::Status released =
      test::RunOn(loop,
                  ReleaseFromRun(loop.executor(), {.address = agent.address(), .name = ""}, "r",
                                 {.answer = std::chrono::seconds(60)}, std::move(stopped)))
          .get();
  EXPECT_TRUE(absl::IsCancelled(released)) << released;
}

TEST(ReleaseFromRunTest, AnAgentThatIsBusyWithAnotherRunSaysWith) {
  const SilentAgent agent;
  IoThread loop("release");
  const absl::Status released =
      test::RunOn(
          loop, ReleaseFromRun(loop.executor(), {.address = agent.address(), .name = ""}, "another",
                               {.answer = std::chrono::seconds(60)}, [] { return false; }))
          .get();
  EXPECT_EQ(BusyWith(released), "r") << released;
}

const grpc::Status kStarting(grpc::StatusCode::UNAVAILABLE, "run r is still being started");

absl::Status Release(const AnsweringAgent& agent, std::chrono::milliseconds starting) {
  IoThread loop("release");
  const ReleaseLimits limits{.answer = std::chrono::seconds(60), .starting = starting};
  return test::RunOn(loop, ReleaseFromRun(loop.executor(), {.address = agent.address(), .name = ""},
                                          "r", limits, [] { return false; }))
      .get();
}

TEST(ReleaseFromRunTest, AnAgentThatStillStartsTheTargetIsAskedUntilItEndsTheRun) {
  const AnsweringAgent agent(std::vector<grpc::Status>(5, kStarting));
  const absl::Status released = Release(agent, std::chrono::seconds(60));
  EXPECT_TRUE(released.ok()) << released;
  EXPECT_EQ(agent.asked(), 6U);
}

TEST(ReleaseFromRunTest, AnAgentThatStartsTheTargetForTooLongSaysSo) {
  const AnsweringAgent agent(std::vector<grpc::Status>(1000, kStarting));
  const absl::Status released = Release(agent, std::chrono::milliseconds(1));
  EXPECT_TRUE(absl::IsUnavailable(released)) << released;
  EXPECT_THAT(std::string(released.message()), HasSubstr("still being started"));
}

TEST(ReleaseFromRunTest, AnAgentThatWentAwayWhileItStartedTheTargetIsNotWaitedFor) {
  AnsweringAgent agent(std::vector<grpc::Status>(1000, kStarting));
  agent.IsGoneAfter(2);
  const absl::Status released = Release(agent, std::chrono::hours(1));
  EXPECT_TRUE(absl::IsUnavailable(released)) << released;
  EXPECT_EQ(agent.asked(), 2U);
}

TEST(BusyAgentsTest, ARefusalNamesTheRunAndAllElseNone) {
  EXPECT_EQ(BusyWith(absl::ResourceExhaustedError("busy with run a-1 since T")), "a-1");
  EXPECT_EQ(BusyWith(absl::ResourceExhaustedError("busy with starting run a-1.2")), "a-1.2");
  EXPECT_EQ(BusyWith(absl::ResourceExhaustedError("too many connections")), "");
  EXPECT_EQ(BusyWith(absl::UnavailableError("busy with run a-1 since T")), "");
  EXPECT_EQ(BusyWith(absl::OkStatus()), "");
}

TEST(BusyAgentsTest, TheCommandsAreThoseOfTheirAgentsAndRuns) {
  const AgentEndpoint one{.address = "10.0.0.1:7311", .name = "one"};
  const AgentEndpoint two{.address = "[::1]:7311", .name = ""};
  EXPECT_THAT(HowToFree({{one, "a-1.3"}}, ""),
              ElementsAre(EndsWith(": coordinator cancel --agents one=10.0.0.1:7311"),
                          EndsWith(": coordinator resume a-1")));
  EXPECT_THAT(HowToFree({{one, "a-1.3"}, {two, "b"}}, "/my keys"),
              ElementsAre(EndsWith(": coordinator cancel --agents 'one=10.0.0.1:7311,[::1]:7311' "
                                   "--credentials '/my keys'"),
                          EndsWith(": coordinator resume RUN")));
  EXPECT_THAT(LeftBusyInWords({one}, ""),
              AllOf(HasSubstr("from one, which may still be busy"),
                    EndsWith(": coordinator cancel --agents one=10.0.0.1:7311")));
}

}  // namespace
}  // namespace fetchbench::coordinator
