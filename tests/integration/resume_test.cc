// Runs whose coordinator is gone: killed, interrupted, stopped by a full disk; and what
// `coordinator resume` makes of them.

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/integration/resume_fixture.h"

namespace fetchbench::test {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ResumeTest : public ResumeFixture {
 protected:
  // What a program says of itself when it is ready.
  static std::string Told(Program& program, const char* what) {
    EXPECT_TRUE(program.WaitForOutput("}\n")) << program.error();
    return std::string(boost::json::parse(program.output()).at(what).as_string());
  }
};

TEST_F(ResumeTest, ARunKilledAtAnyMomentComesToTheSame) {
  const std::string list = Mixed(900);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  folder_.Write("list", list);
  std::mt19937 random(20260131);
  std::uniform_int_distribution<int> moment(0, 1500);
  for (int round = 0; round < 6; ++round) {
    const milliseconds killed_after(round == 0 ? 1 : moment(random));
    SCOPED_TRACE("killed after " + std::to_string(killed_after.count()) + " ms");
    std::filesystem::remove_all(Out());
    {
      Program run(Command({"--concurrency", "2", "--urls", folder_.File("list")}));
      std::this_thread::sleep_for(killed_after);
      run.Signal(SIGKILL);
      run.WaitForExit();
    }
    if (!Exists("resume.json")) continue;  // it had not begun
    const std::string state = folder_.Read(Latest("resume.json"));
    const bool complete = state.find("\"end\":\"complete\"") != std::string::npos;
    const auto resumed = Resume();
    EXPECT_EQ(exit_, complete ? 2 : 0) << resumed->error();
    EXPECT_EQ(Counts(), undisturbed);
    ExpectBalanced();
    EXPECT_EQ(Ask("SELECT count(*) FROM record"), "900");
  }
}

TEST_F(ResumeTest, InterruptedWhileItTakesStockItCanBeResumedAgain) {
  // Enough records that reading them takes longer than a signal.
  constexpr int kUrls = 20'000;
  std::string list;
  for (int i = 0; i < kUrls; ++i) list += "http://h" + std::to_string(i) + ".example/\n";
  // Those of the user: there is nothing to start that would notice it.
  Program origin({Bin("fetchbench-origin"), "--profile", "fast", "--exit-with-parent"});
  Program agent({Bin("fetchbench-agent"), "--listen", "127.0.0.1:0", "--exit-with-parent"});
  const std::string control = Told(origin, "control").substr(std::string("http://").size());
  folder_.Write("list", list);
  auto run = std::make_unique<Program>(std::vector<std::string>{
      Bin("fetchbench-coordinator"), "run", "native", "--urls", folder_.File("list"), "--origin",
      control, "--agents", Told(agent, "listen"), "--out", Out(), "--concurrency", "50", "--format",
      "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h8000.example")) << run->error();
  run->Signal(SIGKILL);
  run->WaitForExit();
  for (int round = 0; round < 3; ++round) {
    Program resumed(
        {Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "plain"});
    // Said before the records are read.
    ASSERT_TRUE(resumed.WaitForError("Web: ")) << resumed.error();
    resumed.Signal(SIGTERM);
    EXPECT_EQ(resumed.WaitForExit(), 130) << resumed.error();
  }
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  ExpectBalanced();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), std::to_string(kUrls));
}

TEST_F(ResumeTest, WhatWasCommittedIsNotFetchedAgain) {
  const std::string list = Mixed(2000);
  auto run = Begin(list, {"--concurrency", "2", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();  // what is printed is committed
  const std::string enough = "SELECT count(*) > 100 FROM record";
  for (int i = 0; i < 3'000 && Ask(enough) == "0"; ++i) usleep(20'000);
  run->Signal(SIGKILL);
  run->WaitForExit();
  const std::string rows = Ask("SELECT count(*) FROM record");
  ASSERT_GT(std::stoi(rows), 100);
  ASSERT_LT(std::stoi(rows), 2000) << "it was over before it was killed";
  const std::string sum = Ask("SELECT sum(idx * 31 + start_us % 1000003) FROM record");
  const auto resumed = Resume({"--format", "json"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT sum(idx * 31 + start_us % 1000003) FROM record WHERE rowid <= " + rows),
            sum)
      << "records of before are as they were";
  // The new origin saw no more than what was left.
  const int left = 2000 - std::stoi(rows);
  EXPECT_LE(Summary().at("origin").at("requests").to_number<int>(), 2 * left);
  EXPECT_EQ(Summary().at("resumed").to_number<int>(), 1);
  EXPECT_GT(Summary().at("downtime_ms").to_number<double>(), 0);
  EXPECT_GE(Summary().at("wall_time_ms").to_number<double>(),
            Summary().at("time").to_number<double>() +
                Summary().at("downtime_ms").to_number<double>() - 1);
  ExpectBalanced();
}

TEST_F(ResumeTest, ARunKilledOverAndOverEndsOnce) {
  const std::string list = Mixed(1500);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  auto run = Begin(list, {"--concurrency", "2", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  run->Signal(SIGKILL);
  run->WaitForExit();
  for (const int after : {150, 400, 800, 1100}) {
    Program again({Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "none"});
    std::this_thread::sleep_for(milliseconds(after));
    again.Signal(SIGKILL);
    again.WaitForExit();
  }
  const auto last = Resume();
  EXPECT_THAT(exit_.value_or(-1), AnyOf(0, 2)) << last->error();
  EXPECT_EQ(Counts(), undisturbed);
  ExpectBalanced();
}

TEST_F(ResumeTest, AfterCtrlCTheSummaryNamesTheCommandAndWhatWasCutShortIsFetchedAgain) {
  const std::string list = Mixed(6000);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  auto run = Begin(list, {"--concurrency", "3", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  run->Signal(SIGINT);
  EXPECT_EQ(run->WaitForExit(), 130) << run->error();
  EXPECT_THAT(run->output() + run->error(), HasSubstr("coordinator resume " + Out() + "/"));
  EXPECT_FALSE(Summary().at("degraded").as_bool()) << "agents that hand back what they had";
  const auto resumed = Resume({"--format", "pretty"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_FALSE(Summary().at("degraded").as_bool());
  EXPECT_THAT(resumed->output(), HasSubstr("wall time"));
  EXPECT_EQ(Counts(), undisturbed);
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE outcome = 'cancelled'"), "0");
  ExpectBalanced();
}

TEST_F(ResumeTest, AfterDurationTheRestIsFetchedWhenAskedFor) {
  Program run(Command({"--concurrency", "1", "--duration", "0.2"}));
  run.Write(Mixed(3000));
  run.CloseInput();
  ASSERT_EQ(run.WaitForExit(), 0) << run.error();
  ASSERT_EQ(Summary().at("end").as_string(), "duration_reached");
  const auto refused = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(refused->error(), HasSubstr("--duration"));
  const auto resumed = Resume({"--duration", "0"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "3000");
  ExpectBalanced();
}

// Needs root, for a file system of its own.
TEST_F(ResumeTest, AFullDiskStopsTheRunAndItGoesOnWithMoreRoom) {
  const std::string disk = folder_.File("out");
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=700k") != 0) GTEST_SKIP() << "no tmpfs";
  const std::string list = Mixed(6000);
  const auto run = Run(list, {"--concurrency", "20"});
  EXPECT_EQ(exit_, 1) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("full"));
  EXPECT_THAT(run->error() + run->output(), HasSubstr("coordinator resume " + Out() + "/"));
  EXPECT_EQ(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=50m"), 0);
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) || ' ' || count(DISTINCT idx) FROM record"), "6000 6000");
  ExpectBalanced();
  umount(disk.c_str());
}

// Likewise. A file system of its own for the runs, and something beside them that fills it.
class FullDiskTest : public ResumeTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(Out());
    mounted_ = mount("none", Out().c_str(), "tmpfs", 0, "size=8m") == 0;
    if (!mounted_) GTEST_SKIP() << "no tmpfs";
  }
  void TearDown() override {
    if (mounted_) umount2(Out().c_str(), MNT_DETACH);
  }

  // All but so much is taken.
  void LeaveFree(uint64_t bytes) const {
    Free();
    const uint64_t taken = std::filesystem::space(Out()).available - bytes;
    folder_.Write("out/filler", std::string(taken, 'x'));
    ASSERT_EQ(std::filesystem::file_size(Filler()), taken);
  }
  void Free() const { std::filesystem::remove(Filler()); }
  std::string Filler() const { return Out() + "/filler"; }

  bool mounted_ = false;
};

TEST_F(FullDiskTest, ARunThatCannotCreateItsStoreSaysHowToGoOn) {
  const std::string list = folder_.File("list");
  folder_.Write("list", Mixed(90));
  // Room for the journal, and not for the store.
  LeaveFree(uint64_t{24} << 10);
  const auto run = Run("", {"--urls", list});
  EXPECT_EQ(exit_, 1) << run->error();
  EXPECT_THAT(run->error(),
              AllOf(HasSubstr("records.db"),
                    HasSubstr("To go on with this run: coordinator resume " + Out() + "/")));
  Free();
  ExpectResumeCompletes(90);
}

TEST_F(FullDiskTest, ARunThatCannotBeGoneOnWithSaysSo) {
  for (const uint64_t left : {24, 256}) {  // no store; no room for the list
    LeaveFree(left << 10);
    // From standard input: it cannot be read again.
    const auto run = Run(Mixed(12'000), {"--concurrency", "20"});
    EXPECT_EQ(exit_, 1) << run->error();
    EXPECT_THAT(run->error() + run->output(),
                AllOf(HasSubstr("egin a new run"), Not(HasSubstr("coordinator resume "))))
        << left;
    Free();
    const auto resumed = Resume();
    EXPECT_EQ(exit_, 2) << "it says what was promised: " << resumed->error();
  }
}

TEST_F(FullDiskTest, ARunThatCannotBeResumedYetSaysHowToGoOn) {
  auto run = Begin(Mixed(3000), {"--concurrency", "1", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  run->Signal(SIGKILL);
  run->WaitForExit();
  // Neither the journal nor, with a little more room, the store can be written to.
  for (const uint64_t left : {0, 16}) {
    LeaveFree(left << 10);
    const auto resumed = Resume();
    EXPECT_EQ(exit_, 1) << resumed->error();
    EXPECT_THAT(resumed->error(), HasSubstr("To go on with this run: coordinator resume " + Out()))
        << left;
  }
  Free();
  ExpectResumeCompletes(3000);
}

TEST_F(ResumeTest, ALocalAgentThatDiesEndsTheRunAtOnceAndAnotherGoesOn) {
  auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  for (const pid_t child : Descendants(run->pid())) {
    if (ProgramOf(child).find("fetchbench-agent") != std::string::npos) kill(child, SIGKILL);
  }
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("coordinator resume "));
  ExpectResumeCompletes(5000);
}

}  // namespace
}  // namespace fetchbench::test
