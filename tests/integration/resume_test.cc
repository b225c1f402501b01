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

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class ResumeTest : public RunFixture {
 protected:
  // Hosts whose outcome does not depend on time, some of each; a line in nine is no URL.
  static std::string Mixed(int lines) {
    static const std::vector<std::string> kKinds{
        "http://h{}.example/",  "http://h{}.status-404.conformance.test/",
        "http://h{}.example/a", "http://h{}.dns-nxdomain.conformance.test/",
        "not a url {}",         "http://h{}.connect-refused.conformance.test/",
        "http://h{}.example/b", "http://h{}.redirect-301.conformance.test/",
        "https://h{}.example/"};
    std::string list;
    for (int i = 0; i < lines; ++i) {
      std::string line = kKinds[static_cast<size_t>(i) % kKinds.size()];
      line.replace(line.find("{}"), 2, std::to_string(i));
      list += line + "\n";
    }
    return list;
  }

  std::unique_ptr<Program> Begin(std::string_view list, std::vector<std::string> options,
                                 const std::string& web = "sim:fast") const {
    auto program = std::make_unique<Program>(Command(options, web));
    program->Write(list);
    program->CloseInput();
    return program;
  }

  std::unique_ptr<Program> Resume(std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{
        Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "plain"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto program = std::make_unique<Program>(arguments);
    exit_ = program->WaitForExit();
    return program;
  }

  // "outcome status count" of each kind, in order: equal for two runs that came to the same.
  std::string Counts() const {
    return Ask(
        "SELECT group_concat(line, '; ') FROM (SELECT outcome || ' ' || coalesce(status, '') || ' "
        "' "
        "|| count(*) AS line FROM records GROUP BY outcome, status ORDER BY outcome, status)");
  }

  // What a program says of itself when it is ready.
  static std::string Told(Program& program, const char* what) {
    EXPECT_TRUE(program.WaitForOutput("}\n")) << program.error();
    return std::string(boost::json::parse(program.output()).at(what).as_string());
  }

  std::string CountsOfUndisturbedRun(const std::string& list) const {
    const auto run = Run(list, {"--concurrency", "20"});
    EXPECT_EQ(exit_, 0) << run->error();
    return Counts();
  }

  bool Exists(const std::string& file) const {
    return std::filesystem::exists(folder_.File(Latest(file)));
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
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  std::this_thread::sleep_for(milliseconds(300));
  run->Signal(SIGKILL);
  run->WaitForExit();
  const std::string rows = Ask("SELECT count(*) FROM record");
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
  const std::string list = Mixed(2000);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  auto run = Begin(list, {"--concurrency", "3"});
  ASSERT_TRUE(run->WaitForError("Web:"));
  // Until there is something.
  for (int i = 0; i < 500 && !Exists("records.db"); ++i) usleep(20'000);
  std::this_thread::sleep_for(milliseconds(900));
  run->Signal(SIGINT);
  EXPECT_EQ(run->WaitForExit(), 130) << run->error();
  EXPECT_THAT(run->output() + run->error(), HasSubstr("coordinator resume " + Out() + "/"));
  EXPECT_FALSE(Summary().at("degraded").as_bool()) << "agents that hand back what they had";
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_FALSE(Summary().at("degraded").as_bool());
  EXPECT_THAT(resumed->output(), HasSubstr("wall time"));
  EXPECT_EQ(Counts(), undisturbed);
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE outcome = 'cancelled'"), "0");
  ExpectBalanced();
}

TEST_F(ResumeTest, ACompleteRunIsRefused) {
  const auto run = Run(Mixed(20), {});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_FALSE(Exists("urls.spool"));
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("is complete"));
}

TEST_F(ResumeTest, ARunWhoseCoordinatorIsAtWorkIsRefused) {
  auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  const auto second = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(second->error(), HasSubstr("is at work (process " + std::to_string(run->pid())));
}

class RefusalTest : public ResumeTest {
 protected:
  void SetUp() override {
    auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
    ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
    run->Signal(SIGKILL);
    run->WaitForExit();
  }

  void Replace(const std::string& what, const std::string& by) {
    std::string text = folder_.Read(Latest("resume.json"));
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, what.size(), by);
    folder_.Write(Latest("resume.json"), text);
  }
};

TEST_F(RefusalTest, AMissingListIsNamed) {
  std::filesystem::remove(folder_.File(Latest("urls.spool")));
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("urls.spool is missing"));
}

TEST_F(RefusalTest, AnotherVersionsRunIsRefused) {
  Replace("\"fetchbench\":\"", "\"fetchbench\":\"99.");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("fetchbench 99."));
}

TEST_F(RefusalTest, ATargetThatChangedIsRefusedAndTheDifferenceNamed) {
  Replace("\\\"tlsGroups\\\":\\\"", "\\\"tlsGroups\\\":\\\"another:");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2) << resumed->error();
  EXPECT_THAT(resumed->error(), HasSubstr("TLS groups was another:"));
  EXPECT_THAT(resumed->error(), HasSubstr("local"));
}

TEST_F(RefusalTest, AnotherWebIsRefused) {
  Replace("\"profile_sha256\":\"", "\"profile_sha256\":\"0");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2) << resumed->error();
  EXPECT_THAT(resumed->error(), HasSubstr("profile"));
}

TEST_F(RefusalTest, ARefusedRunCanStillBeResumed) {
  const std::string sound = folder_.Read(Latest("resume.json"));
  Replace("\"profile_sha256\":\"", "\"profile_sha256\":\"0");
  Resume();
  ASSERT_EQ(exit_, 2);
  folder_.Write(Latest("resume.json"), sound);
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "5000");
  ExpectBalanced();
}

TEST_F(ResumeTest, NoSuchRunIsSaid) {
  const auto resumed = Resume({"nosuchrun"});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("nosuchrun"));
}

TEST_F(ResumeTest, AListOfStandardInputThatWasNotReadIsSaid) {
  {
    Program run(Command({}));
    run.Write("http://h1.example/\n");
    for (int i = 0; i < 500 && !Exists("resume.json"); ++i) usleep(20'000);
    run.Signal(SIGKILL);
    run.WaitForExit();
  }
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("begin a new run"));
}

TEST_F(ResumeTest, AfterDurationTheRestIsFetchedWhenAskedFor) {
  Program run(Command({"--concurrency", "1", "--duration", "0.5"}));
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

TEST_F(ResumeTest, ALocalAgentThatDiesEndsTheRunAtOnceAndAnotherGoesOn) {
  auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  for (const pid_t child : Descendants(run->pid())) {
    if (ProgramOf(child).find("fetchbench-agent") != std::string::npos) kill(child, SIGKILL);
  }
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("coordinator resume "));
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "5000");
  ExpectBalanced();
}

class FleetResumeTest : public ResumeTest {
 protected:
  // At an address of its own, so that it can be started again there.
  std::unique_ptr<Program> StartAgent(int number) {
    const std::string address = "unix:" + folder_.File("agent" + std::to_string(number));
    auto agent = std::make_unique<Program>(
        std::vector<std::string>{Bin("fetchbench-agent"), "--listen", address});
    EXPECT_TRUE(agent->WaitForOutput("}\n")) << agent->error();
    return agent;
  }
  std::string Addresses() const {
    return "unix:" + folder_.File("agent0") + ",unix:" + folder_.File("agent1");
  }
};

TEST_F(FleetResumeTest, AgentsThatStillHoldTheRunAreTakenFromItsOldSession) {
  const std::string list = Mixed(3000);
  const std::string undisturbed = CountsOfUndisturbedRun(list);
  const auto a = StartAgent(0);
  const auto b = StartAgent(1);
  auto run = Begin(list, {"--agents", Addresses(), "--concurrency", "2", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  // One of them cannot be reached when the run is resumed, and holds the old session when it can.
  b->Signal(SIGSTOP);
  run->Signal(SIGKILL);
  run->WaitForExit();
  Program resumed({Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "plain",
                   "--connect-timeout", "1"});
  std::this_thread::sleep_for(milliseconds(2500));
  b->Signal(SIGCONT);
  EXPECT_EQ(resumed.WaitForExit(), 0) << resumed.error();
  EXPECT_EQ(Counts(), undisturbed);
  ExpectBalanced();
}

TEST_F(FleetResumeTest, WithAllAgentsGoneTheRunWaitsSaysSoAndGoesOn) {
  auto a = StartAgent(0);
  auto b = StartAgent(1);
  auto run = Begin(Mixed(3000), {"--agents", Addresses(), "--concurrency", "2", "--format", "plain",
                                 "--grace", "0.5"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  a.reset();
  b.reset();
  EXPECT_TRUE(run->WaitForError("the run waits for one to return")) << run->error();
  a = StartAgent(0);
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
  auto a = StartAgent(0);
  auto b = StartAgent(1);
  auto run = Begin(Mixed(3000), {"--agents", Addresses(), "--concurrency", "2", "--format", "plain",
                                 "--give-up-after", "1"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  a.reset();
  b.reset();
  EXPECT_EQ(run->WaitForExit(), 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("coordinator resume "));
  a = StartAgent(0);
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "3000");
  ExpectBalanced();
}

}  // namespace
}  // namespace fetchbench::test
