// Runs that `coordinator resume` does not go on with, and what it says.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/resume_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ResumeRefusedTest : public ResumeFixture {};
TEST_F(ResumeRefusedTest, ACompleteRunIsRefused) {
  const auto run = Run(Mixed(20), {});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_FALSE(Exists("urls.spool"));
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("is complete"));
}

TEST_F(ResumeRefusedTest, ARunWhoseCoordinatorIsAtWorkIsRefused) {
  auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
  ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
  const auto second = Resume();
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(second->error(), HasSubstr("is at work (process " + std::to_string(run->pid())));
}

TEST_F(ResumeRefusedTest, NoSuchRunIsSaid) {
  const auto resumed = Resume({"nosuchrun"});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(resumed->error(), HasSubstr("nosuchrun"));
}

TEST_F(ResumeRefusedTest, AListOfStandardInputThatWasNotReadIsSaid) {
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

// A new run that is refused before it has fetched anything, beside an earlier one that can be gone
// on with.
class NewRunRefusedTest : public ResumeFixture {
 protected:
  void InterruptARun() {
    auto run = Begin(Mixed(5000), {"--concurrency", "1", "--format", "plain"});
    ASSERT_TRUE(run->WaitForOutput("://h")) << run->error();
    run->Signal(SIGINT);
    ASSERT_EQ(run->WaitForExit(), 130) << run->error();
    earlier_ = std::filesystem::read_symlink(folder_.File("out/latest"));
  }

  // Names in the folder of --out.
  std::set<std::string> Folders() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Out())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  void ExpectOnlyTheEarlierRun() const {
    EXPECT_EQ(Folders(), (std::set<std::string>{earlier_, "latest"}));
    EXPECT_EQ(std::filesystem::read_symlink(folder_.File("out/latest")), earlier_);
  }

  std::string earlier_;
};

TEST_F(NewRunRefusedTest, ItsSettingsLeaveNoFolderAndTheEarlierRunIsTheLatest) {
  InterruptARun();
  const auto agent = StartAgentAt(1);
  const std::string alias = folder_.File("alias");
  std::filesystem::create_symlink(folder_.File("agent1"), alias);
  const std::string twice = AgentAddress(1) + ",unix:" + alias;
  for (const auto& command : {Command({}, "sim:nosuch"), Command({"--agents", twice})}) {
    Program run(command);
    run.Write("http://h1.example/\n");
    run.CloseInput();
    EXPECT_EQ(run.WaitForExit(), 2) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("To go on")));
    ExpectOnlyTheEarlierRun();
  }
  ExpectResumeCompletes(5000);
}

TEST_F(NewRunRefusedTest, TheFirstOneLeavesNoLatest) {
  Program run(Command({}, "sim:nosuch"));
  run.Write("http://h1.example/\n");
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 2) << run.error();
  EXPECT_EQ(Folders(), std::set<std::string>{});
}

// The records of lines that are no URL are records.
TEST_F(NewRunRefusedTest, WhatItHasRecordedIsKeptButIsNotTheLatest) {
  InterruptARun();
  // The list is read long before the agents are given up.
  const auto agent = StartAgentAt(1);
  const std::string alias = folder_.File("alias");
  std::filesystem::create_symlink(folder_.File("agent1"), alias);
  const auto run = Run("not a url\nhttp://h1.example/\n", {"--connect-timeout", "2", "--agents",
                                                           "unix:" + folder_.File("nobody") + "," +
                                                               AgentAddress(1) + ",unix:" + alias});
  EXPECT_EQ(exit_, 2) << run->error();
  EXPECT_THAT(run->error(), Not(HasSubstr("To go on")));
  EXPECT_EQ(Folders().size(), 3u);
  EXPECT_EQ(std::filesystem::read_symlink(folder_.File("out/latest")), earlier_);
  ExpectResumeCompletes(5000);
}

TEST_F(NewRunRefusedTest, WithoutAgentsItCanBeGoneOnWith) {
  const auto run =
      Run("http://h1.example/\n", {"--agents", AgentAddress(1), "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("To go on with this run: "));
  const auto agent = StartAgentAt(1);
  ExpectResumeCompletes(1);
}

// There is no list to go on with.
TEST_F(NewRunRefusedTest, WithoutAgentsAndItsListItLeavesNothing) {
  InterruptARun();
  Program run(Command({"--agents", AgentAddress(1), "--connect-timeout", "1"}));
  run.Write("http://h1.example/\n");
  EXPECT_EQ(run.WaitForExit(), 3) << run.error();
  EXPECT_THAT(run.error(), AllOf(HasSubstr("begin a new run"), Not(HasSubstr("To go on"))));
  ExpectOnlyTheEarlierRun();
}

TEST_F(NewRunRefusedTest, ARunThatNeverBeganIsRefusedAgainAndStays) {
  const std::string alias = folder_.File("alias");
  const auto run = Run("http://h1.example/\n",
                       {"--agents", AgentAddress(1) + ",unix:" + alias, "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 3) << run->error();
  const auto agent = StartAgentAt(1);
  std::filesystem::create_symlink(folder_.File("agent1"), alias);
  const auto refused = Resume();
  EXPECT_EQ(exit_, 2) << refused->error();
  EXPECT_THAT(refused->error(), HasSubstr("is named twice"));
  std::filesystem::remove(alias);
  ExpectResumeCompletes(1);
}

class RefusalTest : public ResumeFixture {
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

TEST_F(RefusalTest, ADamagedJournalIsNamedWithWhatIsWrongInIt) {
  Replace("\"concurrency\":1,", "\"concurrency\":-1,");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 1) << resumed->error();
  EXPECT_THAT(resumed->error(), AllOf(HasSubstr("resume.json: 'options.concurrency' is -1"),
                                      HasSubstr("begin a new run")));
}

TEST_F(RefusalTest, ANumberThatNoOptionTakesIsNamed) {
  Replace("\"silence_ms\":10000", "\"silence_ms\":1");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 1) << resumed->error();
  EXPECT_THAT(resumed->error(), HasSubstr("resume.json: 'options.silence_ms' is 1, where a whole "
                                          "number from 2000 to "));
}

TEST_F(RefusalTest, ADamagedStoreIsNamedWithWhatToDo) {
  const std::string path = folder_.File(Latest("records.db"));
  // The pages behind the first one.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(16'384);
  for (int i = 0; i < 100; ++i) file << std::string(1024, '\x5a');
  file.close();
  std::filesystem::remove(path + "-wal");
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 1) << resumed->error();
  EXPECT_THAT(resumed->error(),
              AllOf(HasSubstr("records.db: the file is damaged ("), HasSubstr("begin a new run"),
                    HasSubstr("records.db .recover"), Not(HasSubstr("To go on"))));
}

TEST_F(RefusalTest, ADamagedListIsNamedWithWhatToDo) {
  const std::string path = folder_.File(Latest("urls.spool"));
  const auto whole = std::filesystem::file_size(path);
  const std::string sound = folder_.Read(Latest("urls.spool"));
  const auto expect_told = [this] {
    const auto resumed = Resume();
    EXPECT_EQ(exit_, 1) << resumed->error();
    EXPECT_THAT(resumed->error(),
                AllOf(HasSubstr("urls.spool: the file is damaged ("), HasSubstr("begin a new run"),
                      HasSubstr("records.db"), Not(HasSubstr("To go on"))));
  };
  std::filesystem::resize_file(path, whole - 100);
  expect_told();
  folder_.Write(Latest("urls.spool"), std::string(whole, 'x'));
  expect_told();
  // Sound, and not this run's.
  std::filesystem::resize_file(path, 0);
  folder_.Write(Latest("urls.spool"), sound + sound.substr(17));
  expect_told();
  folder_.Write(Latest("urls.spool"), sound);
  ExpectResumeCompletes(5000);
}

// Else its URL would be asked of another host.
TEST_F(RefusalTest, AListWithOneBitFlippedInAUrlIsNamedWithWhatToDo) {
  std::string flipped = folder_.Read(Latest("urls.spool"));
  const size_t at = flipped.find("http://h4500.example/");
  ASSERT_NE(at, std::string::npos);
  flipped[at + 7] ^= 1;  // i4500.example
  folder_.Write(Latest("urls.spool"), flipped);
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 1) << resumed->error();
  EXPECT_THAT(resumed->error(), AllOf(HasSubstr("urls.spool: the file is damaged (at byte "),
                                      HasSubstr("begin a new run"), HasSubstr("records.db"),
                                      Not(HasSubstr("To go on"))));
}

// It is of no use to sum up what no fetch can have come to.
TEST_F(RefusalTest, ARecordThatNoFetchMakesIsNamedWithWhatToDo) {
  const std::string row = Ask("SELECT min(idx) FROM record WHERE outcome = 1");
  SQLite::Database db(folder_.File(Latest("records.db")), SQLite::OPEN_READWRITE);
  db.exec("UPDATE record SET outcome = 99 WHERE idx = " + row);
  const auto resumed = Resume();
  EXPECT_EQ(exit_, 1) << resumed->error();
  EXPECT_THAT(resumed->error(),
              AllOf(HasSubstr("records.db: the file is damaged (index " + row + ": outcome is 99)"),
                    HasSubstr("begin a new run"), HasSubstr("records.db .recover"),
                    Not(HasSubstr("To go on"))));
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
  ExpectResumeCompletes(5000);
}

}  // namespace
}  // namespace fetchbench::test
