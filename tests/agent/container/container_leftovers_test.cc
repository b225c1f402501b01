// The agent as a program of its own that is killed in the middle of a run: the next one tidies up.
#include <signal.h>

#include <boost/json.hpp>
#include <filesystem>

#include "tests/agent/container/container_fixture.h"
#include "tests/support/child_program.h"

namespace fetchbench::agent {
namespace {

// An agent as a child, and a stub for it.
struct AgentProgram {
  explicit AgentProgram(const std::string& socket)
      : program(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fetchbench-agent",
                {"--listen", "unix:" + socket, "--exit-with-parent"}) {
    program.ReadLines(1);
    stub = v1::Agent::NewStub(grpc::CreateCustomChannel(
        "unix:" + socket, grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }
  fetchbench::testing::ChildProgram program;
  std::unique_ptr<v1::Agent::Stub> stub;
};

class ContainerLeftoversTest : public ContainerTest {
 protected:
  std::vector<docker::ContainerSummary> OfRun(const std::string& run) {
    const auto list = Get(client_.ListContainers({"fetchbench.run=" + run}));
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *list : std::vector<docker::ContainerSummary>();
  }
};

TEST_F(ContainerLeftoversTest, WhatAKilledAgentLeftIsGoneAfterTheNextStart) {
  const std::string run = "leftovers-" + std::to_string(getpid());
  v1::Start start = ContainerStart("stay ignore-term");
  start.set_run_id(run);
  start.mutable_options()->set_ca_pem("a certificate");
  std::string owner;
  {
    AgentProgram agent(folder_ + "/killed.sock");
    test::RunStream stream(*agent.stub, start);
    ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
    const auto left = OfRun(run);
    ASSERT_EQ(left.size(), 1);
    owner = left.front().labels.at(std::string(docker::kOwnerLabel));
    agent.program.Signal(SIGKILL);
    agent.program.Wait();
    stream.Abort();
  }
  ASSERT_EQ(OfRun(run).size(), 1);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fetchbench-agent-of-" + owner);
  EXPECT_TRUE(std::filesystem::exists(folder));
  const AgentProgram next(folder_ + "/next.sock");
  for (int i = 0; i < 1'000 && !OfRun(run).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(OfRun(run).empty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(ContainerLeftoversTest, AnAgentThatIsAskedToStopTakesItsContainerAlong) {
  const std::string run = "stopped-" + std::to_string(getpid());
  v1::Start start = ContainerStart("stay ignore-term");
  start.set_run_id(run);
  AgentProgram agent(folder_ + "/stopped.sock");
  test::RunStream stream(*agent.stub, start);
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  agent.program.Signal(SIGTERM);
  EXPECT_EQ(agent.program.Wait().exit_code, 0);
  EXPECT_TRUE(OfRun(run).empty());
}

}  // namespace
}  // namespace fetchbench::agent
