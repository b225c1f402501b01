// Runs over a fleet whose coordinator, or all of whose agents, are gone.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/grpc_options.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/integration/resume_fixture.h"

namespace fetchbench::test {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FleetResumeTest : public ResumeFixture {
 protected:
  std::string Addresses() const { return AgentAddress(0) + "," + AgentAddress(1); }
  std::string Journal() const { return folder_.Read(Latest("resume.json")); }
  bool WaitForJournal(const std::string& text) const {
    for (int i = 0; i < 1000 && Journal().find(text) == std::string::npos; ++i) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return Journal().find(text) != std::string::npos;
  }

  // A run over agents "one" and "two", of which only the first is there; it is stopped after the
  // first records, so that the run is not over before the other one comes.
  void BeginWithoutTheSecond(const Program& one, std::unique_ptr<Program>& run) {
    run = Begin(Mixed(3000), {"--agents", "one=" + AgentAddress(0) + ",two=" + AgentAddress(1),
                              "--concurrency", "2", "--format", "plain", "--connect-timeout", "1"});
    ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
    one.Signal(SIGSTOP);
  }
};

TEST_F(FleetResumeTest, AgentsThatStillHoldTheRunAreTakenFromItsOldSession) {
  const std::string list = Mixed(3000);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  const auto a = StartAgentAt(0);
  const auto b = StartAgentAt(1);
  auto run = Begin(list, {"--agents", Addresses(), "--concurrency", "2", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  // One of them cannot be reached when the run is resumed, and holds the old session when it can.
  b->Signal(SIGSTOP);
  run->Signal(SIGKILL);
  run->WaitForExit();
  const std::string of_b = "SELECT count(*) FROM record WHERE agent = 1";
  const int before = std::stoi(Ask(of_b));
  Program resumed({Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "none",
                   "--log-level", "info", "--connect-timeout", "1"});
  ASSERT_TRUE(resumed.WaitForError("agent0 is here")) << resumed.error();
  // So that there is work left for the other one, whenever it is there.
  a->Signal(SIGSTOP);
  b->Signal(SIGCONT);
  EXPECT_TRUE(resumed.WaitForError("agent1 is here")) << resumed.error();
  a->Signal(SIGCONT);
  EXPECT_EQ(resumed.WaitForExit(), 0) << resumed.error();
  EXPECT_GT(std::stoi(Ask(of_b)), before) << "it came back, and got nothing to do";
  EXPECT_EQ(Counts(), undisturbed);
  ExpectBalanced();
}

// Busy with the run, and deaf from the third question on, which is the one before it is to be
// freed: `coordinator resume` asks twice what an agent is.
class DeafAgent final : public v1::Agent::Service {
 public:
  DeafAgent(const std::string& address, std::string run_id) : run_id_(std::move(run_id)) {
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~DeafAgent() override { server_->Shutdown(std::chrono::system_clock::now()); }

  bool WaitUntilDeaf() const {
    for (int i = 0; i < 3000 && questions_ < 3; ++i) std::this_thread::sleep_for(milliseconds(20));
    return questions_ >= 3;
  }

  grpc::Status Describe(grpc::ServerContext* context, const v1::DescribeRequest* /*request*/,
                        v1::DescribeResponse* response) override {
    const bool deaf = ++questions_ >= 3;
    while (deaf && !context->IsCancelled()) std::this_thread::sleep_for(milliseconds(10));
    response->set_version(FETCHBENCH_VERSION);
    response->set_busy_run_id(run_id_);
    return grpc::Status::OK;
  }

 private:
  const std::string run_id_;
  std::atomic<int> questions_{0};
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(FleetResumeTest, CtrlCDoesNotWaitForAnAgentThatIsBeingFreed) {
  auto a = StartAgentAt(0);
  auto run = Begin(Mixed(3000), {"--agents", AgentAddress(0), "--concurrency", "2", "--format",
                                 "plain", "--connect-timeout", "3000"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  run->Signal(SIGKILL);
  run->WaitForExit();
  a.reset();
  std::filesystem::remove(folder_.File("agent0"));
  const DeafAgent deaf(AgentAddress(0), std::filesystem::read_symlink(folder_.File("out/latest")));
  Program resumed({Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "none"});
  ASSERT_TRUE(deaf.WaitUntilDeaf()) << resumed.error();
  resumed.Signal(SIGINT);
  EXPECT_EQ(resumed.WaitForExit(), 130) << resumed.error();
}

TEST_F(FleetResumeTest, AnAgentThatCameLateIsComparedWithWhatItWas) {
  const auto one = StartAgentAt(0);
  std::unique_ptr<Program> run;
  ASSERT_NO_FATAL_FAILURE(BeginWithoutTheSecond(*one, run));
  const auto two = StartAgentAt(1);
  ASSERT_TRUE(WaitForJournal("\"two\":")) << Journal();
  run->Signal(SIGKILL);
  run->WaitForExit();
  one->Signal(SIGCONT);
  // As if it had been built with another TLS library then.
  std::string journal = Journal();
  const size_t library = journal.find("OpenSSL", journal.find("\"two\":"));
  ASSERT_NE(library, std::string::npos) << journal;
  folder_.Write(Latest("resume.json"), journal.replace(library, 7, "OtherSL"));
  const auto refused = Resume();
  EXPECT_NE(exit_, 0);
  EXPECT_THAT(refused->error(), AllOf(HasSubstr("on two: "), HasSubstr("OtherSL")));
}

TEST_F(FleetResumeTest, WhatALateAgentBringsIsToldOfWhenItCannotBeNoted) {
  const auto one = StartAgentAt(0);
  std::unique_ptr<Program> run;
  ASSERT_NO_FATAL_FAILURE(BeginWithoutTheSecond(*one, run));
  // The journal is written beside itself first.
  std::filesystem::create_directory(folder_.File(Latest("resume.json.new")));
  const auto two = StartAgentAt(1);
  EXPECT_TRUE(run->WaitForError("agent two: what it runs could not be noted: cannot write "))
      << run->error();
  one->Signal(SIGCONT);
}

TEST_F(FleetResumeTest, WithAllAgentsGoneTheRunWaitsSaysSoAndGoesOn) {
  auto a = StartAgentAt(0);
  auto b = StartAgentAt(1);
  auto run = Begin(Mixed(3000), {"--agents", Addresses(), "--concurrency", "2", "--format", "plain",
                                 "--grace", "0.5"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  a.reset();
  b.reset();
  EXPECT_TRUE(run->WaitForError("the run waits for one to return")) << run->error();
  a = StartAgentAt(0);
  EXPECT_EQ(run->WaitForExit(), 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("an agent is back"));
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "3000");
  ExpectBalanced();
  EXPECT_TRUE(Summary().at("degraded").as_bool());
  const std::string reason(Summary().at("reason").as_string());
  EXPECT_THAT(reason, HasSubstr("agent1 lost"));
  EXPECT_THAT(reason, HasSubstr("URLs moved"));
}

TEST_F(FleetResumeTest, WithoutAgentsForTooLongTheRunIsGivenUpAndCanBeResumed) {
  auto a = StartAgentAt(0);
  auto b = StartAgentAt(1);
  auto run = Begin(Mixed(3000), {"--agents", Addresses(), "--concurrency", "2", "--format", "plain",
                                 "--give-up-after", "1"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  a.reset();
  b.reset();
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("coordinator resume "));
  a = StartAgentAt(0);
  ExpectResumeCompletes(3000);
}

}  // namespace
}  // namespace fetchbench::test
