// What a run notes for a later session, and that it holds nobody up.
#include "coordinator/run/run_journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "common/fd.h"
#include "common/io_thread.h"
#include "coordinator/run/take_up_run.h"
#include "tests/coordinator/resume_samples.h"
#include "tests/support/fake_clock.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::FakeClock;
using fetchbench::test::kSecond;
using fetchbench::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RunJournalTest : public ::testing::Test {
 protected:
  RunJournal Begin() {
    RunOptions options;
    options.target = *TargetRegistry().Find("native");
    options.urls = "list.txt";
    options.concurrency = 1;
    folder_.Write("list.txt", "a\n");
    auto journal = RunJournal::Begin(*RunFolder::Create(folder_.path(), "run"), clock_,
                                     {"run", folder_.File("run"), 0, "list.txt"}, options);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return *std::move(journal);
  }

  absl::StatusOr<TakenUpRun> TakeUp(const ResumeOptions& given = {}) {
    ResumeOptions options = given;
    options.run = folder_.File("run");
    return TakeUpRun(options, TargetRegistry());
  }

  RunJournal GoOn() {
    auto taken = TakeUp();
    EXPECT_TRUE(taken.ok()) << taken.status();
    return *RunJournal::GoOn(std::move(taken->folder), clock_, taken->state, taken->down_since_us);
  }

  void MakeFiles() {
    folder_.Write("run/urls.spool", "urls.");
    folder_.Write("run/records.db", "x");
  }

  // What a note comes to.
  template <typename Result>
  Result Wait(Task<Result> note) {
    return test::RunOn(loop_, std::move(note)).get();
  }

  // What NoteFeeding gives, as lengths in seconds.
  double Feed(RunJournal& journal) {
    const auto pause = Wait(journal.NoteFeeding({}));
    EXPECT_TRUE(pause.ok()) << pause.status();
    return static_cast<double>(pause->Length()) / kSecond;
  }

  void Pass(int seconds) { clock_.Advance(std::chrono::seconds(seconds)); }

  std::string Text() const { return folder_.Read("run/resume.json"); }

  const TempFolder folder_;
  FakeClock clock_;
  IoThread loop_{"journal-test"};
};

MadeReady ReadyOn(const std::string& agent, const std::string& version) {
  MadeReady ready;
  ready.facts[agent].set_version(version);
  return ready;
}

// The disk is a pipe that nobody has opened for reading: who writes there waits.
class SlowJournalTest : public RunJournalTest {
 protected:
  std::string Pipe() const { return folder_.File("run/resume.json.new"); }
  void MakeSlow() const { ASSERT_EQ(mkfifo(Pipe().c_str(), 0600), 0); }
  // It takes what is written, and then fails, since a pipe cannot be synchronized.
  void EndSlowness() const {
    const Fd reader(open(Pipe().c_str(), O_RDONLY | O_CLOEXEC));
    std::string piece(4096, '\0');
    while (read(reader.get(), piece.data(), piece.size()) > 0) {
    }
  }
  // Whether the loop does something else.
  bool LoopGoesOn() {
    std::promise<void> went_on;
    auto goes_on = went_on.get_future();
    net::post(loop_.executor(), [&went_on] { went_on.set_value(); });
    const bool in_time = goes_on.wait_for(test::kTestPatience) == std::future_status::ready;
    if (!in_time) EndSlowness();
    goes_on.wait();
    return in_time;
  }
};

TEST_F(SlowJournalTest, TheLoopGoesOnAndNotesKeepTheirOrder) {
  RunJournal journal = Begin();
  Feed(journal);
  ASSERT_NO_FATAL_FAILURE(MakeSlow());
  auto first = test::RunOn(loop_, journal.NoteDisturbed({{"a", true, 0, 7, "gone"}}));
  ASSERT_TRUE(LoopGoesOn());
  auto second = test::RunOn(loop_, journal.NoteReady(ReadyOn("b", "1")));
  ASSERT_TRUE(LoopGoesOn());
  EXPECT_FALSE(test::IsReady(first, std::chrono::milliseconds(0)));
  EXPECT_FALSE(test::IsReady(second, std::chrono::milliseconds(0))) << "it is not on disk";
  EndSlowness();
  EXPECT_FALSE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_THAT(Text(), AllOf(HasSubstr("gone"), HasSubstr(R"("b":)"))) << "the later one has all";
}

// Who resumes the run would find no list in it.
TEST_F(RunJournalTest, AListThatCouldNotBeNotedIsNone) {
  RunJournal journal = Begin();
  // It is written first, and cannot be.
  std::filesystem::create_directory(folder_.File("run/resume.json.new"));
  EXPECT_FALSE(Wait(journal.NoteList(5, 0)).ok());
  EXPECT_FALSE(journal.state().list_loaded);
}

TEST_F(RunJournalTest, APauseLastsFromTheLastSignOfLifeUntilUrlsFlowAgain) {
  {
    RunJournal first = Begin();
    ASSERT_TRUE(Wait(first.NoteList(5, 0)).ok());
    EXPECT_EQ(Feed(first), 0);
    MakeFiles();
    Pass(10);
    first.SignOfLife();
  }
  Pass(30);
  {
    // Killed before it had begun to feed: the pause goes on.
    RunJournal second = GoOn();
    Pass(5);
    second.SignOfLife();
  }
  Pass(15);
  RunJournal third = GoOn();
  EXPECT_EQ(third.state().sessions, 3u);
  EXPECT_EQ(third.state().fed_us, 10 * kSecond);
  EXPECT_EQ(Feed(third), 50);
  EXPECT_EQ(Pauses(third.state().pauses).Total(), 50 * kSecond);
}

TEST_F(RunJournalTest, AFetchThatEndedLaterShowsThatItWasNotDownYet) {
  {
    RunJournal first = Begin();
    ASSERT_TRUE(Wait(first.NoteList(5, 0)).ok());
    Feed(first);
    MakeFiles();
    first.SignOfLife();
  }
  Pass(30);
  RunJournal second = GoOn();
  second.NotDownBefore(second.state().down_since_us + 10 * kSecond);
  EXPECT_EQ(Feed(second), 20);
}

TEST_F(RunJournalTest, AgentsThatWereDisturbedAreNotedAgainWhenTheDiskFailed) {
  RunJournal journal = Begin();
  ASSERT_TRUE(Wait(journal.NoteList(5, 0)).ok());
  Feed(journal);
  const std::vector<Disturbance> lost{{"a", true, 0, 7, "gone"}};
  const std::filesystem::path folder = journal.folder().path();
  const std::filesystem::path away = folder.string() + ".away";
  std::filesystem::rename(folder, away);
  EXPECT_FALSE(Wait(journal.NoteDisturbed(lost)).ok());
  std::filesystem::rename(away, folder);
  Pass(1);
  ASSERT_TRUE(Wait(journal.NoteDisturbed(lost)).ok());
  EXPECT_EQ(journal.state().disturbed, lost);
  EXPECT_THAT(Text(), HasSubstr("gone"));
}

TEST_F(RunJournalTest, WhatALateAgentBringsIsThereForTheNextSession) {
  {
    RunJournal first = Begin();
    ASSERT_TRUE(Wait(first.NoteList(5, 0)).ok());
    MadeReady ready = ReadyOn("a", "1");
    ready.image_ids["x86_64"] = "sha256:1";
    ASSERT_TRUE(Wait(first.NoteReady(ready)).ok());
    EXPECT_TRUE(first.state().facts.empty()) << "nothing has run, so nothing is settled";
    ASSERT_TRUE(Wait(first.NoteFeeding(ready)).ok());
    ready.facts["late"].set_version("1");
    ready.image_ids["aarch64"] = "sha256:2";
    ASSERT_TRUE(Wait(first.NoteReady(ready)).ok());
    MakeFiles();
  }
  const auto taken = TakeUp();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->state.facts.at("late").version(), "1");
  EXPECT_EQ(taken->state.facts.at("a").version(), "1");
  EXPECT_EQ(taken->state.image_ids.at("aarch64"), "sha256:2");
}

TEST_F(RunJournalTest, WhatALateAgentBringsIsNotedAgainWhenTheDiskFailed) {
  RunJournal journal = Begin();
  ASSERT_TRUE(Wait(journal.NoteList(5, 0)).ok());
  Feed(journal);
  const std::filesystem::path folder = journal.folder().path();
  const std::filesystem::path away = folder.string() + ".away";
  std::filesystem::rename(folder, away);
  EXPECT_FALSE(Wait(journal.NoteReady(ReadyOn("late", "1"))).ok());
  std::filesystem::rename(away, folder);
  ASSERT_TRUE(Wait(journal.NoteReady(ReadyOn("late", "1"))).ok());
  EXPECT_THAT(Text(), HasSubstr("late"));
}

TEST_F(RunJournalTest, WhereItsCredentialsAreIsKnownFromAnyFolder) {
  RunOptions options;
  options.target = *TargetRegistry().Find("native");
  options.urls = "-";
  options.credentials.named = "credentials";
  const auto journal = RunJournal::Begin(*RunFolder::Create(folder_.path(), "run"), clock_,
                                         {"run", folder_.File("run"), 0, "-"}, options);
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(journal->state().options.credentials.named,
            (std::filesystem::current_path() / "credentials").string());
}

TEST_F(RunJournalTest, WhatIsKnownOfAgentsIsNotWrittenAgain) {
  RunJournal journal = Begin();
  ASSERT_TRUE(Wait(journal.NoteFeeding(ReadyOn("a", "1"))).ok());
  std::filesystem::remove(folder_.File("run/resume.json"));
  ASSERT_TRUE(Wait(journal.NoteReady(ReadyOn("a", "1"))).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("run/resume.json")));
}

TEST_F(RunJournalTest, AgentsThatWereDisturbedAreSummedUpOverAllSessions) {
  {
    RunJournal first = Begin();
    ASSERT_TRUE(Wait(first.NoteList(5, 0)).ok());
    Feed(first);
    MakeFiles();
    ASSERT_TRUE(Wait(first.NoteDisturbed({{"a", false, 1, 0, "broken"}})).ok());
    // Soon after the last one: later. It is asked for again and again.
    const std::vector<Disturbance> now{{"a", true, 1, 7, "gone"}, {"b", false, 2, 0, ""}};
    ASSERT_TRUE(Wait(first.NoteDisturbed(now)).ok());
    EXPECT_EQ(first.state().disturbed.size(), 1u);
    Pass(1);
    ASSERT_TRUE(Wait(first.NoteDisturbed(now)).ok());
    EXPECT_EQ(first.state().disturbed, now);
  }
  {
    RunJournal second = GoOn();
    EXPECT_TRUE(second.state().disturbed.empty());
    Summary interrupted;
    interrupted.end = RunEnd::kInterrupted;
    ASSERT_TRUE(Wait(second.NoteEnd(interrupted, {{"b", true, 0, 5, "no answer"}})).ok());
  }
  const RunJournal third = GoOn();
  EXPECT_EQ(third.state().disturbed_earlier,
            (std::vector<Disturbance>{{"a", true, 1, 7, "gone"}, {"b", true, 2, 5, "no answer"}}));
}

TEST_F(RunJournalTest, ACompleteRunLosesItsListAndIsRefused) {
  {
    RunJournal journal = Begin();
    ASSERT_TRUE(Wait(journal.NoteList(5, 0)).ok());
    MakeFiles();
    Summary summary;
    ASSERT_TRUE(Wait(journal.NoteEnd(summary, {})).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.File("run/urls.spool")));
  const auto refused = TakeUp();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("complete"));
}

// One bit is taken for each.
TEST_F(RunJournalTest, MoreUrlsThanTheirListCanHoldAreDamage) {
  for (const uint64_t urls : {uint64_t{6}, uint64_t{1} << 50, ~uint64_t{0}}) {
    {
      RunJournal journal = Begin();
      ASSERT_TRUE(Wait(journal.NoteList(urls, 0)).ok());
    }
    MakeFiles();
    const auto damaged = TakeUp();
    EXPECT_TRUE(absl::IsDataLoss(damaged.status())) << damaged.status();
    EXPECT_THAT(std::string(damaged.status().message()),
                AllOf(HasSubstr("urls.spool"), HasSubstr(std::to_string(urls))));
    std::filesystem::remove_all(folder_.File("run"));
  }
}

TEST_F(RunJournalTest, AJournalThatCannotBeReadIsNotOneOfARunThatHasNotBegun) {
  { const RunJournal journal = Begin(); }
  std::filesystem::remove(folder_.File("run/resume.json"));
  std::filesystem::create_directory(folder_.File("run/resume.json"));
  const auto taken = TakeUp();
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(std::string(taken.status().message()),
              AllOf(HasSubstr("resume.json"), Not(HasSubstr("begin a new run"))));
}

TEST_F(RunJournalTest, ARunWhoseListWasNotReadBeginsAnewFromItsFile) {
  { const RunJournal journal = Begin(); }
  const auto taken = TakeUp();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE(taken->state.list_loaded);
  EXPECT_TRUE(std::filesystem::path(taken->state.options.urls).is_absolute());
}

}  // namespace
}  // namespace fetchbench::coordinator
