// Runs over agents that are there already, one to four.

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/integration/agents_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class AgentsTest : public AgentsFixture {};

// proc(5): signals that wait for a process, of which the handler has not run yet.
bool IsPending(pid_t pid, int signal) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  const uint64_t bit = uint64_t{1} << (signal - 1);
  for (std::string line; std::getline(status, line);) {
    const bool pending = line.starts_with("SigPnd:") || line.starts_with("ShdPnd:");
    if (pending && (std::stoull(line.substr(line.find('\t') + 1), nullptr, 16) & bit) != 0)
      return true;
  }
  return false;
}

TEST_F(AgentsTest, FourAgentsShareOneList) {
  for (int i = 0; i < 4; ++i) StartAgent();
  const auto run = Run(List(2000), {"--agents", addresses_, "--concurrency", "20"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("80 in total"));
  EXPECT_THAT(run->error(), Not(HasSubstr("busy")));
  EXPECT_EQ(Ask("SELECT count(DISTINCT agent) FROM record"), "4");
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "2000");
  ExpectBalanced();
}

TEST_F(AgentsTest, AHostIsAskedByOneAgentAtATime) {
  for (int i = 0; i < 2; ++i) StartAgent();
  std::string list;
  for (int i = 0; i < 200; ++i) list += "https://one.example/" + std::to_string(i) + "\n";
  const auto run = Run(list, {"--agents", addresses_});
  EXPECT_EQ(exit_, 0) << run->error();
  // Whenever two fetches overlap, the same agent made both.
  EXPECT_EQ(
      Ask("SELECT count(*) FROM record a JOIN record b ON a.agent < b.agent AND "
          "a.start_us < b.start_us + b.duration_us AND b.start_us < a.start_us + a.duration_us"),
      "0");
}

TEST_F(AgentsTest, AHostMovesToAnotherAgentAsAWhole) {
  for (int i = 0; i < 2; ++i) StartAgent();
  std::ofstream(folder_.File("even.json"))
      << R"({"name": "even", "http": {"first_byte_ms": {"median": 20}}})";
  Program run(Command({"--agents", addresses_, "--per-host", "2", "--grace", "1"},
                      "sim:" + folder_.File("even.json")));
  std::string list;
  for (int i = 0; i < 300; ++i) list += "https://one.example/" + std::to_string(i) + "\n";
  run.Write(list);
  run.CloseInput();
  const std::string holder = AgentOfTheFirstRecord();
  agents_.at(std::stoul(holder))->Signal(SIGKILL);
  ASSERT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Ask("SELECT count(DISTINCT agent) FROM record"), "2");
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "300");
  EXPECT_EQ(
      Ask("SELECT count(*) FROM record a JOIN record b ON a.agent < b.agent AND "
          "a.start_us < b.start_us + b.duration_us AND b.start_us < a.start_us + a.duration_us"),
      "0");
  EXPECT_EQ(Summary().at("origin").at("most_requests_of_a_host").to_number<int>(), 2);
  ExpectBalanced();
}

TEST_F(AgentsTest, AKilledAgentsUrlsAreFetchedByTheOthers) {
  for (int i = 0; i < 3; ++i) StartAgent();
  Program run(
      Command({"--agents", addresses_, "--concurrency", "10", "--grace", "1", "--format", "plain"},
              "sim:published"));
  run.Write(List(200));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  agents_[1]->Signal(SIGKILL);
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "200");
  ExpectBalanced();
  EXPECT_TRUE(Summary().at("degraded").as_bool());
}

TEST_F(AgentsTest, APausedAgentKeepsItsRunAndNothingIsLost) {
  for (int i = 0; i < 2; ++i) StartAgent();
  Program run(Command({"--agents", addresses_, "--concurrency", "10", "--format", "plain"},
                      "sim:published"));
  run.Write(List(100));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  agents_[0]->Signal(SIGSTOP);
  usleep(1'500'000);
  agents_[0]->Signal(SIGCONT);
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "100");
  ExpectBalanced();
}

TEST_F(AgentsTest, AnAgentThatIsNotThereIsNamedAndTheRunGoesOn) {
  StartAgent();
  const auto run =
      Run(List(50), {"--agents", addresses_ + ",127.0.0.1:1", "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("agent 127.0.0.1:1 is not there"));
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "50");
  EXPECT_TRUE(Summary().at("degraded").as_bool());
}

TEST_F(AgentsTest, ARunWithOneAgentAtTwoAddressesDoesNotStart) {
  StartAgent();
  const std::string& first = listening_[0];
  const std::string second = "localhost" + first.substr(first.find(':'));
  const std::string both = second + "," + first;
  const auto run = Run(List(50), {"--agents", both});
  EXPECT_EQ(exit_, 2) << run->error();
  const std::string why = "agent " + second + " is named twice: " + first + " is the same one";
  EXPECT_THAT(run->error(), HasSubstr(why));
  EXPECT_THAT(run->error(), Not(HasSubstr("took run")));
  Program agents({Bin("fetchbench-coordinator"), "agents", "--agents", both});
  EXPECT_EQ(agents.WaitForExit(), 2);
  EXPECT_THAT(agents.output(), HasSubstr("\n" + first + ": free; is the same agent as " + second));
  EXPECT_THAT(agents.error(), HasSubstr(why));
  Program cancel({Bin("fetchbench-coordinator"), "cancel", "--agents", both});
  EXPECT_EQ(cancel.WaitForExit(), 0);
  EXPECT_EQ(cancel.output(),
            second + ": free already\n" + first + ": is the same agent as " + second + "\n");
}

// The second address leads to the agent only when the run is under way. The agent stays with the
// session that has it, without a break. Whoever goes on with the run has both from its beginning.
TEST_F(AgentsTest, AnAgentThatComesUnderASecondAddressIsNotTakenOver) {
  const auto agent = StartAgentAt(1);
  const std::string alias = folder_.File("alias");
  std::ofstream(folder_.File("even.json"))
      << R"({"name": "even", "http": {"first_byte_ms": {"median": 20}}})";
  Program run(Command({"--agents", AgentAddress(1) + ",unix:" + alias, "--connect-timeout", "1",
                       "--concurrency", "4"},
                      "sim:" + folder_.File("even.json")));
  run.Write(List(2000));
  run.CloseInput();
  ASSERT_EQ(AgentOfTheFirstRecord(), "0") << run.error();
  std::filesystem::create_symlink(folder_.File("agent1"), alias);
  const std::string why = "it is the same agent as ";
  ASSERT_TRUE(run.WaitForError("agent unix:" + alias + " gave up: " + why + AgentAddress(1)))
      << run.error();
  const std::string before = Ask("SELECT count(*) FROM record");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Ask("SELECT count(*) FROM record") == before &&
         std::chrono::steady_clock::now() < deadline) {
    usleep(20'000);
  }
  EXPECT_NE(Ask("SELECT count(*) FROM record"), before) << run.error();
  run.Signal(SIGKILL);
  EXPECT_EQ(run.WaitForExit(), -SIGKILL);
  EXPECT_THAT(run.error(), Not(AnyOf(HasSubstr("is away"), HasSubstr("is back"))));
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_THAT(resumed->error(), HasSubstr("gave up: " + why));
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "2000");
  ExpectBalanced();
}

TEST_F(AgentsTest, WithoutAnyAgentTheRunIsIncomplete) {
  const auto run = Run(List(5), {"--agents", "127.0.0.1:1", "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("127.0.0.1:1"));
}

TEST_F(AgentsTest, WithoutTheOriginThatWasNamedTheRunIsIncomplete) {
  StartAgent();
  const auto run =
      Run(List(5), {"--agents", addresses_, "--origin", "127.0.0.1:1", "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("origin 127.0.0.1:1"));
  EXPECT_THAT(run->error(), HasSubstr("To go on with this run"));
}

TEST_F(AgentsTest, ASecondCoordinatorHearsWhoIsThere) {
  StartAgent();
  Program first(Command({"--agents", addresses_, "--format", "plain"}, "sim:published"));
  first.Write(List(5000));
  first.CloseInput();
  ASSERT_TRUE(first.WaitForOutput("\n")) << first.error();
  const auto second = Run(List(5), {"--agents", addresses_});
  EXPECT_EQ(exit_, 3);
  EXPECT_THAT(second->error(), HasSubstr("busy with run"));
  EXPECT_THAT(second->error(), HasSubstr("coordinator cancel --agents " + addresses_));
  EXPECT_THAT(second->error(), HasSubstr("coordinator resume 2"));
  first.Signal(SIGINT);
  EXPECT_EQ(first.WaitForExit(), 130) << first.error();
}

TEST_F(AgentsTest, AnAgentThatGaveNoLastWordIsNamedWithTheCommandThatFreesIt) {
  for (int i = 0; i < 2; ++i) StartAgent();
  Program run(Command({"--agents", addresses_, "--concurrency", "10", "--format", "plain"},
                      "sim:published"));
  run.Write(List(5000));
  run.CloseInput();
  for (const int agent : {0, 1}) ASSERT_TRUE(WaitForRecordOf(agent)) << run.error();
  agents_[0]->Signal(SIGSTOP);
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("may still be busy"));
  EXPECT_THAT(run.error(), HasSubstr("coordinator cancel --agents " + listening_[0]));
  agents_[0]->Signal(SIGCONT);
  Program cancel({Bin("fetchbench-coordinator"), "cancel", "--agents", listening_[0]});
  EXPECT_EQ(cancel.WaitForExit(), 0) << cancel.output() << cancel.error();
  Program free({Bin("fetchbench-coordinator"), "agents", "--agents", listening_[0]});
  EXPECT_EQ(free.WaitForExit(), 0);
  EXPECT_THAT(free.output(), Not(HasSubstr("busy")));
}

TEST_F(AgentsTest, ASecondCtrlCSaysWhichAgentsItLeavesBusy) {
  StartAgent();
  Program run(Command({"--agents", addresses_, "--format", "plain"}, "sim:published"));
  run.Write(List(5000));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  agents_[0]->Signal(SIGSTOP);
  run.Signal(SIGINT);
  // Two that are pending at once would be one.
  for (int i = 0; i < 1000 && IsPending(run.pid(), SIGINT); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("coordinator cancel --agents " + addresses_));
  agents_[0]->Signal(SIGCONT);
}

TEST_F(AgentsTest, CancelFreesAnAgent) {
  StartAgent();
  auto first = std::make_unique<Program>(
      Command({"--agents", addresses_, "--format", "plain"}, "sim:published"));
  first->Write(List(5000));
  first->CloseInput();
  ASSERT_TRUE(first->WaitForOutput("\n")) << first->error();
  first->Signal(SIGKILL);
  first->WaitForExit();
  Program busy({Bin("fetchbench-coordinator"), "agents", "--agents", addresses_});
  EXPECT_EQ(busy.WaitForExit(), 0);
  EXPECT_THAT(busy.output(), HasSubstr("busy with run"));
  EXPECT_THAT(busy.error(), HasSubstr("coordinator cancel --agents " + addresses_));
  // One that is free, and one that is not there: each is told of, in the order that was given.
  StartAgent();
  const std::string& held = listening_[0];
  const std::string& idle = listening_[1];
  Program cancel(
      {Bin("fetchbench-coordinator"), "cancel", "--agents", "127.0.0.1:1," + held + "," + idle});
  EXPECT_EQ(cancel.WaitForExit(), 3) << cancel.output() << cancel.error();
  EXPECT_THAT(cancel.output(), MatchesRegex("127.0.0.1:1: not reachable.*\n" + held +
                                            ": run .* is ended\n" + idle + ": free already\n"));
  Program free({Bin("fetchbench-coordinator"), "agents", "--agents", addresses_});
  EXPECT_EQ(free.WaitForExit(), 0);
  EXPECT_THAT(free.output(), HasSubstr("free"));
}

TEST_F(AgentsTest, ARunWhoseCoordinatorIsThereCanBeCancelledToo) {
  StartAgent();
  Program run(Command({"--agents", addresses_, "--format", "plain"}, "sim:published"));
  run.Write(List(5000));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  Program cancel({Bin("fetchbench-coordinator"), "cancel", "--agents", addresses_});
  EXPECT_EQ(cancel.WaitForExit(), 0) << cancel.output() << cancel.error();
  EXPECT_THAT(cancel.output(), HasSubstr("is ended"));
  EXPECT_EQ(run.WaitForExit(), 3) << run.error();
  EXPECT_LT(Summary().at("ledger").at("recorded").to_number<int>(), 5000);
  Program free({Bin("fetchbench-coordinator"), "agents", "--agents", addresses_});
  EXPECT_EQ(free.WaitForExit(), 0);
  EXPECT_THAT(free.output(), HasSubstr("free"));
}

TEST_F(AgentsTest, AgentsElsewhereWithoutAnOriginAreAUsageError) {
  const auto run = Run("a.example\n", {"--agents", "192.0.2.1:7311"});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(run->error(), HasSubstr("--origin"));
}

}  // namespace
}  // namespace fetchbench::test
