// How the runs of many agents are ended. Real gRPC on loopback.

#include "coordinator/run/cancel_run.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/loopback_server.h"

namespace fetchbench::coordinator {
namespace {

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

// Answers one stream after the other with what it was given, and then that the run is ended.
class AnsweringAgent final : public v1::Agent::Service {
 public:
  explicit AnsweringAgent(std::vector<grpc::Status> answers)
      : answers_(std::move(answers)), server_(*this) {}

  const std::string& address() const { return server_.address(); }

  grpc::Status Execute(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override {
    v1::CoordinatorMessage message;
    while (stream->Read(&message) && !message.has_cancel()) {
    }
    const std::lock_guard lock(mutex_);
    if (next_ < answers_.size()) return answers_[next_++];
    v1::AgentMessage last;
    last.mutable_finished();
    stream->Write(last);
    return grpc::Status::OK;
  }

 private:
  const std::vector<grpc::Status> answers_;
  std::mutex mutex_;
  size_t next_ = 0;
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

}  // namespace
}  // namespace fetchbench::coordinator
