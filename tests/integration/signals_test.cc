// Ctrl-C, once and twice, and deaths of programs.

#include <signal.h>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SignalsTest : public RunFixture {
 protected:
  // A run that takes long, already under way: its first records are printed.
  std::unique_ptr<Program> LongRun(const std::vector<std::string>& options = {},
                                   int urls = 20'000) {
    std::vector<std::string> all{"--concurrency", "20", "--format", "plain"};
    all.insert(all.end(), options.begin(), options.end());
    auto run = std::make_unique<Program>(Command(all, "sim:published"));
    run->Write(List(urls));
    run->CloseInput();
    EXPECT_TRUE(run->WaitForOutput("\n")) << run->error();
    return run;
  }
};

TEST_F(SignalsTest, CtrlCSumsUpWhatIsThere) {
  const auto run = LongRun();
  const auto children = Descendants(run->pid());
  EXPECT_THAT(children, SizeIs(testing::Ge(3u))) << "origin, agent and target";
  run->Signal(SIGINT);
  EXPECT_EQ(run->WaitForExit(), 130) << run->error();
  EXPECT_THAT(StillAlive(children), IsEmpty());
  ExpectBalanced();
  EXPECT_EQ(Summary().at("end").as_string(), "interrupted");
  EXPECT_NE(Ask("SELECT count(*) FROM records WHERE outcome='cancelled'"), "0");
}

TEST_F(SignalsTest, CtrlCTwiceStopsAtOnceAndLeavesNothingRunning) {
  const auto run = LongRun();
  const auto children = Descendants(run->pid());
  run->Signal(SIGINT);
  run->Signal(SIGINT);
  EXPECT_EQ(run->WaitForExit(), 130) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("To go on with this run: coordinator resume " + Out() + "/"));
  EXPECT_THAT(StillAlive(children), IsEmpty());
}

TEST_F(SignalsTest, ATerminalThatHangsUpIsLikeCtrlCHoweverOftenItSaysSo) {
  const auto run = LongRun();
  const auto children = Descendants(run->pid());
  run->Signal(SIGHUP);
  run->Signal(SIGHUP);
  EXPECT_EQ(run->WaitForExit(), 130) << run->error();
  EXPECT_THAT(StillAlive(children), IsEmpty());
  ExpectBalanced();
  EXPECT_EQ(Summary().at("end").as_string(), "interrupted");
}

TEST_F(SignalsTest, UnderNohupAHangUpIsNone) {
  std::vector<std::string> command{"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};
  for (const std::string& word : Command({"--format", "plain"})) command.push_back(word);
  Program run(command);
  run.Write("h1.example\n");
  ASSERT_TRUE(run.WaitForError("Web:"));
  run.Signal(SIGHUP);
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
}

TEST_F(SignalsTest, AnOriginThatDiesMarksTheRun) {
  const auto run = LongRun({}, 500);
  for (const pid_t pid : Descendants(run->pid())) {
    if (ProgramOf(pid) == Bin("fetchbench-origin")) kill(pid, SIGKILL);
  }
  EXPECT_EQ(run->WaitForExit(), 0) << run->error();
  ExpectBalanced();
  EXPECT_THAT(run->error(), HasSubstr("no figures from the origin"));
  EXPECT_THAT(boost::json::serialize(Summary().at("marks")),
              testing::AllOf(HasSubstr("origin_gone"), HasSubstr("signal 9")));
}

TEST_F(SignalsTest, CtrlCWorksWhileTheListIsStillComing) {
  Program run(Command({}));
  run.Write("h1.example\n");
  ASSERT_TRUE(run.WaitForError("Web:"));
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();
  ExpectBalanced();
}

TEST_F(SignalsTest, CtrlCWorksWhileNobodyReadsTheRecords) {
  Program run(Command({"--concurrency", "50", "--format", "plain"}));
  run.Write(List(20'000));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForError("Web:"));
  usleep(1'000'000);  // the pipe fills meanwhile
  run.Signal(SIGINT);
  // WaitForExit reads; so the pipe is left full until the program has had its time.
  usleep(3'000'000);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();
  ExpectBalanced();
}

TEST_F(SignalsTest, ChildrenDieWithACoordinatorThatIsKilled) {
  const auto run = LongRun();
  const auto children = Descendants(run->pid());
  run->Signal(SIGKILL);
  EXPECT_EQ(run->WaitForExit(), -SIGKILL);
  EXPECT_THAT(StillAlive(children), IsEmpty());
}

TEST_F(SignalsTest, ALocalAgentThatDiesMakesTheRunIncomplete) {
  const auto run = LongRun({"--grace", "1"});
  pid_t agent = 0;
  for (const pid_t pid : Descendants(run->pid())) {
    if (ProgramOf(pid) == Bin("fetchbench-agent")) agent = pid;
  }
  ASSERT_NE(agent, 0);
  kill(agent, SIGKILL);
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  ExpectBalanced();
  EXPECT_EQ(Summary().at("end").as_string(), "incomplete");
}

TEST_F(SignalsTest, ATargetThatDiesMakesTheRunIncompleteAndIsNamed) {
  const auto run = LongRun();
  for (const pid_t pid : Descendants(run->pid())) {
    if (ProgramOf(pid) == Bin("fetchbench-native")) kill(pid, SIGSEGV);
  }
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("native"));
  EXPECT_NE(Ask("SELECT count(*) FROM records WHERE outcome='client_crashed'"), "0");
  ExpectBalanced();
}

}  // namespace
}  // namespace fetchbench::test
