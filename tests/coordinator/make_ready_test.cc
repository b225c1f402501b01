// An agent that refuses to start, since it is not ready, and what its session makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/run/agent_session.h"
#include "tests/support/fake_agent.h"

namespace fetchbench::coordinator {
namespace {

using std::chrono::milliseconds;
using test::FakeAgent;
using test::FakeAgentScript;
using ::testing::HasSubstr;

class MakeReadyTest : public ::testing::Test {
 protected:
  // A session with that agent, until it has started or has given up.
  void Drive(FakeAgent& agent, absl::Status outcome) {
    net::io_context loop(1);
    v1::Start start;
    start.set_run_id("run");
    AgentEvents events;
    std::shared_ptr<AgentSession> session;
    events.started = [&](const v1::Started&, const absl::flat_hash_set<uint64_t>&) {
      started_ = true;
      session->Abandon();
    };
    events.credit = [] {};
    events.away = [this](const absl::Status& why) { away_.emplace_back(why.message()); };
    events.failed = [this](const absl::Status& why, const v1::Failed&) { failed_ = why; };
    events.may_read = [] { return true; };
    session = std::make_shared<AgentSession>(
        loop.get_executor(), AgentEndpoint{.address = agent.address(), .name = ""}, start,
        AgentSessionLimits{milliseconds(5000), milliseconds(1), milliseconds(2)}, events);
    session->set_make_ready([this, outcome](absl::Status refused, v1::Start& its) {
      ++calls_;
      refused_ = std::move(refused);
      (*its.mutable_image_ids())["x86_64"] = "sha256:" + std::to_string(calls_);
      return Answer(outcome);
    });
    if (admit_) {
      session->set_admit([this](v1::Started started) { return Admit(std::move(started)); });
    }
    session->Begin();
    loop.run();
  }
  static Task<absl::Status> Answer(absl::Status outcome) { co_return outcome; }
  Task<absl::Status> Admit(v1::Started started) {
    ++admissions_;
    EXPECT_EQ(started.host().hostname(), "fake-host");
    co_return *admit_;
  }

  static FakeAgentScript Refusing(grpc::StatusCode code, int times) {
    FakeAgentScript script;
    script.refuse = grpc::Status(code, "its image is another one");
    script.refusals = times;
    return script;
  }

  std::optional<absl::Status> admit_;
  int admissions_ = 0;
  int calls_ = 0;
  absl::Status refused_;
  bool started_ = false;
  std::vector<std::string> away_;
  absl::Status failed_;
};

TEST_F(MakeReadyTest, AnAgentThatIsReadyNowStartsWithWhatIsWantedNow) {
  FakeAgent agent(Refusing(grpc::StatusCode::FAILED_PRECONDITION, 2));
  Drive(agent, absl::OkStatus());
  EXPECT_TRUE(started_) << failed_;
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(refused_.message(), "its image is another one");
  ASSERT_EQ(agent.starts().size(), 1u);
  EXPECT_EQ(agent.starts()[0].image_ids().at("x86_64"), "sha256:2");
  EXPECT_THAT(away_, ::testing::Contains(HasSubstr("another one"))) << "shown meanwhile";
}

TEST_F(MakeReadyTest, OneThatCannotBeMadeReadyIsOutAndSaysWhy) {
  FakeAgent agent(Refusing(grpc::StatusCode::FAILED_PRECONDITION, -1));
  Drive(agent, absl::FailedPreconditionError("nobody hands it out"));
  EXPECT_FALSE(started_);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(failed_, absl::FailedPreconditionError("nobody hands it out"));
}

TEST_F(MakeReadyTest, OneThatCannotBeReachedForItIsTriedAgain) {
  FakeAgent agent(Refusing(grpc::StatusCode::FAILED_PRECONDITION, 3));
  Drive(agent, absl::UnavailableError("gone"));
  EXPECT_TRUE(started_) << failed_;
}

TEST_F(MakeReadyTest, OneThatDoesNotStayReadyIsGivenUp) {
  FakeAgent agent(Refusing(grpc::StatusCode::FAILED_PRECONDITION, -1));
  Drive(agent, absl::OkStatus());
  EXPECT_FALSE(started_);
  EXPECT_EQ(calls_, kMostMadeReady);
  EXPECT_EQ(failed_.message(), "its image is another one");
}

TEST_F(MakeReadyTest, AnAgentThatIsAdmittedStarts) {
  FakeAgent agent(FakeAgentScript{});
  admit_ = absl::OkStatus();
  Drive(agent, absl::OkStatus());
  EXPECT_TRUE(started_) << failed_;
  EXPECT_EQ(admissions_, 1);
}

TEST_F(MakeReadyTest, OneThatRunsWhatItMustNotIsToldToStopAndIsOut) {
  FakeAgent agent(FakeAgentScript{});
  admit_ = absl::FailedPreconditionError("another version");
  Drive(agent, absl::OkStatus());
  EXPECT_FALSE(started_);
  EXPECT_EQ(failed_, absl::FailedPreconditionError("another version"));
  EXPECT_TRUE(agent.cancelled()) << "it would be busy until it is given up";
  EXPECT_EQ(calls_, 0) << "it is no matter of making it ready";
  EXPECT_EQ(admissions_, 1);
}

TEST_F(MakeReadyTest, OtherRefusalsAreNotMended) {
  FakeAgent agent(Refusing(grpc::StatusCode::INVALID_ARGUMENT, -1));
  Drive(agent, absl::OkStatus());
  EXPECT_EQ(calls_, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(failed_)) << failed_;
}

}  // namespace
}  // namespace fetchbench::coordinator
