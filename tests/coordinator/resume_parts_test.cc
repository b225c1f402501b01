// The parts of going on with a run, each by itself: what is kept, what is read back, what is
// refused.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>

#include "coordinator/run/cancel_run.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/run/resume_state.h"
#include "coordinator/run/run_journal.h"
#include "coordinator/run/run_store.h"
#include "coordinator/run/run_view.h"
#include "coordinator/run/spool_scan.h"
#include "coordinator/run/stored_records.h"
#include "coordinator/run/take_up_run.h"
#include "tests/coordinator/memory_spool.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::FakeClock;
using fetchbench::test::TempFolder;
using test::MemorySpool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kBegin = 1'769'903'999 * kSecond;

Record Answer(uint64_t index, int64_t start_us, int64_t duration_us = 1000) {
  Record r;
  r.index = index;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = start_us;
  r.duration_us = duration_us;
  r.body_bytes = 10;
  return r;
}

TEST(IndexSetTest, HoldsEachIndexOnceAndNoneBeyondItsSize) {
  IndexSet set(65);
  EXPECT_TRUE(set.Add(0));
  EXPECT_TRUE(set.Add(64));
  EXPECT_FALSE(set.Add(64));
  EXPECT_FALSE(set.Add(65));
  EXPECT_TRUE(set.Contains(64));
  EXPECT_FALSE(set.Contains(63));
  EXPECT_FALSE(set.Contains(1'000'000));
  EXPECT_EQ(set.count(), 2u);
}

TEST(PausesTest, AreLeftOutOfTimesAndAMomentWithinIsItsBeginning) {
  const Pauses pauses({{100, 150}, {300, 310}});
  EXPECT_EQ(pauses.LeaveOut(90), 90);
  EXPECT_EQ(pauses.LeaveOut(120), 100);
  EXPECT_EQ(pauses.LeaveOut(200), 150);
  EXPECT_EQ(pauses.LeaveOut(400), 340);
  EXPECT_EQ(pauses.Total(), 60);
  // A clock that was set back meanwhile makes no time.
  EXPECT_EQ(Pauses({{100, 40}}).Total(), 0);
}

TEST(AggregatorWithPausesTest, TimeLeavesThemOutAndWallTimeDoesNot) {
  Aggregator aggregator(0);
  aggregator.Add(Answer(0, kBegin, kSecond));
  aggregator.AddPause({kBegin + 2 * kSecond, kBegin + 12 * kSecond});
  aggregator.Add(Answer(1, kBegin + 12 * kSecond, kSecond));
  const Measured m = aggregator.Result();
  EXPECT_EQ(m.time_us, 3 * kSecond);
  EXPECT_EQ(m.wall_us, 13 * kSecond);
  EXPECT_NEAR(static_cast<double>(m.time_to_99_us), 3.0 * kSecond, 2000);
  EXPECT_DOUBLE_EQ(m.mean_in_flight, 2.0 / 3);
}

TEST(AggregatorWithPausesTest, APauseBeforeTheFirstStartCostsNothing) {
  Aggregator aggregator(0, Pauses({{kBegin, kBegin + 100 * kSecond}}));
  aggregator.Add(Answer(0, kBegin + 200 * kSecond, kSecond));
  EXPECT_EQ(aggregator.Result().time_us, kSecond);
  EXPECT_EQ(aggregator.Result().wall_us, kSecond);
}

TEST(ResumedLeaseBookTest, LendsOnlyWhatHasNoRecord) {
  MemorySpool spool({{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}}, 4);
  IndexSet known(10);
  for (const uint64_t i : {4, 5, 6, 7, 1, 9}) known.Add(i);  // a whole chunk among them
  LeaseBook book(
      10, known.count(), {3, 1}, 1, std::chrono::seconds(1),
      [&](uint32_t p) { return spool.Take(p); }, known);
  std::vector<uint64_t> lent;
  while (true) {
    const auto lease = book.Lend(0, 100);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(book.counts().Balanced());
    if (!lease->has_value()) break;
    for (const uint32_t e : (*lease)->entries) lent.push_back((*lease)->chunk->indices[e]);
  }
  EXPECT_THAT(lent, ElementsAre(0, 2, 3, 8));
  EXPECT_EQ(book.Accept(0, 9).verdict, Verdict::kDuplicate);
  for (const uint64_t i : lent) EXPECT_EQ(book.Accept(0, i).verdict, Verdict::kFirst);
  EXPECT_TRUE(book.AllRecorded());
}

TEST(ResumedLeaseBookTest, CountsWhatWasTakenFromEachAgent) {
  MemorySpool spool({{0, 1, 2}, {3, 4}}, 4);
  LeaseBook book(5, 0, spool.remaining(), 2, std::chrono::seconds(1),
                 [&](uint32_t p) { return spool.Take(p); });
  ASSERT_TRUE(book.Lend(0, 10).ok());
  ASSERT_TRUE(book.Lend(1, 10).ok());
  book.AgentGone(0);
  EXPECT_EQ(book.TakenFrom(0), 3u);
  EXPECT_EQ(book.TakenFrom(1), 0u);
}

ResumeState FullState() {
  ResumeState s;
  s.version = FETCHBENCH_VERSION;
  s.identity = {"20260131T235959Z-3fa9c1", "out/x", kBegin, "urls.txt"};
  s.options.target = *TargetRegistry().Find("native");
  s.options.urls = "/lists/urls.txt";
  s.options.agents = {"10.0.0.1:7311", "unix:/a"};
  s.options.profile = "fast";
  s.options.origin = "10.0.0.5:8000";
  s.options.concurrency = 150;
  s.options.duration = std::chrono::microseconds(90 * kSecond);
  s.options.timeout = std::chrono::milliseconds(700);
  s.options.seed = 18'446'744'073'709'551'615u;
  s.options.build_arguments = {{"A", "b"}};
  s.options.give_up_after = std::chrono::milliseconds(5000);
  s.list_loaded = true;
  s.urls = 10'000'000;
  s.invalid = 7;
  s.target.set_name("native");
  s.target.set_context_sha256("abc");
  s.facts["local"].set_version("1.2");
  s.facts["local"].add_libraries("c-ares 1.18.1");
  s.profile_sha256 = "def";
  s.sessions = 3;
  s.pauses = {{1, 2}, {3, 4}};
  s.fed_us = 12;
  s.requested_again = 4;
  return s;
}

TEST(ResumeStateTest, ComesBackAsItWasWritten) {
  const ResumeState s = FullState();
  const auto back = ParseResumeState(ToJson(s), TargetRegistry());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(s));
  EXPECT_EQ(back->options.seed, s.options.seed);
  EXPECT_EQ(back->options.limit, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(back->options.agents, s.options.agents);
  EXPECT_EQ(back->facts.at("local").libraries(0), "c-ares 1.18.1");
  EXPECT_EQ(back->pauses.size(), 2u);
}

TEST(ResumeStateTest, AnotherVersionAndDamageAreToldApart) {
  ResumeState other = FullState();
  other.version = "99.0";
  const auto refused = ParseResumeState(ToJson(other), TargetRegistry());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("99.0"));
  const std::string text = ToJson(FullState());
  EXPECT_TRUE(absl::IsDataLoss(ParseResumeState(text.substr(0, 300), TargetRegistry()).status()));
  std::string without = text;
  without.replace(without.find("\"sessions\""), 10, "\"other\"");
  EXPECT_TRUE(absl::IsDataLoss(ParseResumeState(without, TargetRegistry()).status()));
}

TEST(ResumeStateTest, ATargetThatIsGoneIsNamed) {
  ResumeState s = FullState();
  s.options.target.name = "rust/gone";
  const auto refused = ParseResumeState(ToJson(s), TargetRegistry());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("rust/gone"));
}

TEST(ResumeStateTest, NamesEveryDifferenceOfWhatRan) {
  v1::TargetSpec then;
  then.set_name("rust/reqwest");
  then.set_context_sha256("aaa");
  (*then.mutable_build_args())["RUST_IMAGE"] = "rust:1";
  v1::TargetSpec now = then;
  EXPECT_THAT(DifferenceOf(then, now), IsEmpty());
  now.set_context_sha256("bbb");
  (*now.mutable_build_args())["RUST_IMAGE"] = "rust:2";
  const std::string words = DifferenceOf(then, now);
  EXPECT_THAT(words, HasSubstr("folder was aaa, is bbb"));
  EXPECT_THAT(words, HasSubstr("RUST_IMAGE was rust:1, is rust:2"));
}

TEST(ResumeStateTest, OnlyANamedImageMustBeTheSameToTheDigest) {
  v1::TargetFacts then;
  then.set_image_digest("sha256:1");
  v1::TargetFacts now;
  now.set_image_digest("sha256:2");
  EXPECT_THAT(DifferenceOf("a", then, now, false), IsEmpty());
  EXPECT_THAT(DifferenceOf("a", then, now, true), HasSubstr("sha256:2"));
  now.set_tls_library("another");
  EXPECT_THAT(DifferenceOf("a", then, now, false), HasSubstr("on a: TLS library was none"));
}

TEST(SessionIdTest, TellsSessionsOfOneRunFromOtherRuns) {
  EXPECT_EQ(SessionId("r-1", 1), "r-1");
  EXPECT_NE(SessionId("r-1", 2), SessionId("r-1", 3));
  EXPECT_TRUE(IsSessionOf(SessionId("r-1", 12), "r-1"));
  EXPECT_TRUE(IsSessionOf("r-1", "r-1"));
  EXPECT_FALSE(IsSessionOf("r-12", "r-1"));
  EXPECT_FALSE(IsSessionOf("r", "r-1"));
}

TEST(ResumeCommandTest, NamesTheRunAsShortlyAsItCan) {
  EXPECT_EQ(ResumeCommand("out/id", "id"), "coordinator resume id");
  EXPECT_EQ(ResumeCommand("/data/id", "id"), "coordinator resume /data/id");
  EXPECT_EQ(ResumeCommand("/my data/id", "id"), "coordinator resume '/my data/id'");
}

TEST(OptionsOfResumedTest, WhatIsLeftOfTheDurationCounts) {
  ResumeState s = FullState();
  s.fed_us = 60 * kSecond;
  EXPECT_EQ(OptionsOfResumed(s, {}).duration, std::chrono::seconds(30));
  s.fed_us = 600 * kSecond;
  EXPECT_GT(OptionsOfResumed(s, {}).duration.count(), 0) << "0 would be no limit";
  ResumeOptions given;
  given.duration = std::chrono::microseconds(0);
  given.origin = "10.0.0.9:8000";
  EXPECT_EQ(OptionsOfResumed(s, given).duration.count(), 0);
  EXPECT_EQ(OptionsOfResumed(s, given).origin, "10.0.0.9:8000");
}

// The store of a run, with a record for each index given.
class StoredRecordsTest : public ::testing::Test {
 protected:
  void Store(const std::vector<Record>& records, bool build_index = true) {
    auto store = RunStore::Create(path_, {[](auto) {}, [](auto) {}});
    ASSERT_TRUE(store.ok()) << store.status();
    CommitBatch batch;
    batch.agent = 2;
    for (const Record& record : records) batch.Add(record, "https://a.example/");
    (*store)->Push(std::move(batch));
    ASSERT_TRUE((*store)->Finish(build_index).ok());
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("records.db");
};

TEST_F(StoredRecordsTest, TakesStockOfWhatIsThere) {
  Store({Answer(0, kBegin), Answer(4, kBegin + 9 * kSecond, 5 * kSecond)});
  const auto stored = TakeUpRecords(path_, 6, 1000, Pauses());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->recorded.count(), 2u);
  EXPECT_TRUE(stored->recorded.Contains(4));
  EXPECT_THAT(stored->by_agent, ElementsAre(0, 0, 2));
  EXPECT_EQ(stored->last_end_us, kBegin + 14 * kSecond);
  EXPECT_EQ(stored->aggregator.Result().time_us, 14 * kSecond);
  EXPECT_EQ(stored->aggregator.Result().overshoot.count, 2u);
}

TEST_F(StoredRecordsTest, WhatWasCutShortByOurSideGetsAnotherTurn) {
  Record cancelled = Answer(1, kBegin);
  cancelled.outcome = Outcome::kCancelled;
  Record crashed = Answer(2, kBegin);
  crashed.outcome = Outcome::kClientCrashed;
  Store({Answer(0, kBegin), cancelled, crashed});
  const auto stored = TakeUpRecords(path_, 3, 0, Pauses());
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->cut_short, 2u);
  EXPECT_EQ(stored->recorded.count(), 1u);
}

TEST_F(StoredRecordsTest, TwoRecordsOfOneIndexOrOneTooManyAreDamage) {
  Store({Answer(0, kBegin), Answer(0, kBegin)}, false);
  EXPECT_TRUE(absl::IsDataLoss(TakeUpRecords(path_, 3, 0, Pauses()).status()));
  std::filesystem::remove(path_);
  Store({Answer(3, kBegin)});
  EXPECT_TRUE(absl::IsDataLoss(TakeUpRecords(path_, 3, 0, Pauses()).status()));
}

TEST_F(StoredRecordsTest, AnOpenedStoreGoesOnAndItsIndexIsBuiltAnew) {
  Store({Answer(0, kBegin)});
  ASSERT_TRUE(TakeUpRecords(path_, 2, 0, Pauses()).ok());
  auto store = RunStore::Open(path_, {[](auto) {}, [](auto) {}});
  ASSERT_TRUE(store.ok()) << store.status();
  CommitBatch batch;
  batch.Add(Answer(1, kBegin), "https://b.example/");
  (*store)->Push(std::move(batch));
  EXPECT_TRUE((*store)->Finish().ok());
  SQLite::Database db(path_, SQLite::OPEN_READONLY);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM record").getInt(), 2);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM sqlite_master WHERE name='record_idx'").getInt(),
            1);
}

TEST_F(StoredRecordsTest, AFileThatIsNoStoreIsNotOpened) {
  EXPECT_FALSE(RunStore::Open(path_, {}).ok());
  folder_.Write("records.db", "no database at all, whatever its name says");
  EXPECT_FALSE(TakeUpRecords(path_, 3, 0, Pauses()).ok());
}

// Commits for as long as it lives, and says on `told` how many records are committed.
[[noreturn]] void CommitUntilKilled(const std::string& path, int told) {
  RunStore::Callbacks callbacks;
  callbacks.committed = [told, sum = uint64_t{0}](const std::vector<CommitBatch>& batches) mutable {
    for (const CommitBatch& batch : batches) sum += batch.records.size();
    if (write(told, &sum, sizeof(sum)) < 0) _exit(1);
  };
  callbacks.failed = [](const absl::Status&) { _exit(1); };
  auto store = RunStore::Create(path, std::move(callbacks));
  if (!store.ok()) _exit(1);
  for (uint64_t index = 0; index < 2'000'000;) {
    CommitBatch batch;
    batch.agent = 0;
    for (int i = 0; i < 700; ++i) batch.Add(Answer(index++, kBegin), "https://a.example/some/path");
    (*store)->Push(std::move(batch));
    usleep(500);
  }
  _exit(0);
}

TEST_F(StoredRecordsTest, AKillInTheMiddleOfACommitLosesNothingCommitted) {
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    const std::string path = folder_.File("records" + std::to_string(round));
    std::array<int, 2> told{};
    ASSERT_EQ(pipe(told.data()), 0);
    const pid_t child = fork();
    if (child == 0) CommitUntilKilled(path, told[1]);
    close(told[1]);
    uint64_t committed = 0;
    ASSERT_EQ(read(told[0], &committed, sizeof(committed)), ssize_t{sizeof(committed)});
    usleep(random() % 60'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(told[0], &committed, sizeof(committed)) > 0) {
    }
    close(told[0]);
    const auto stored = TakeUpRecords(path, 2'000'000, 0, Pauses());
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_GE(stored->recorded.count(), committed);
    EXPECT_EQ(stored->recorded.count() % 700, 0u) << "a batch is there as a whole or not at all";
  }
}

// What a power cut may leave: a write-ahead log that ends anywhere.
TEST_F(StoredRecordsTest, ALogThatWasCutOffLeavesASoundFileWithLess) {
  auto store = RunStore::Create(path_, {[](auto) {}, [](auto) {}});
  ASSERT_TRUE(store.ok());
  for (uint64_t index = 0; index < 6000;) {
    CommitBatch batch;
    batch.agent = 0;
    for (int i = 0; i < 500; ++i) batch.Add(Answer(index++, kBegin), "https://a.example/");
    (*store)->Push(std::move(batch));
    usleep(15'000);  // a transaction each
  }
  // The store is open still: closing it would copy the log into the file.
  const TempFolder cut;
  std::filesystem::copy_file(path_, cut.File("records.db"));
  const std::string wal = cut.File("wal");
  std::filesystem::copy_file(path_ + "-wal", wal);
  const auto whole = std::filesystem::file_size(wal);
  uint64_t most = 0;
  for (int part = 1; part <= 10; ++part) {
    const TempFolder copy;
    std::filesystem::copy_file(cut.File("records.db"), copy.File("records.db"));
    std::filesystem::copy_file(wal, copy.File("records.db-wal"));
    std::filesystem::resize_file(copy.File("records.db-wal"), whole * part / 10);
    const auto stored = TakeUpRecords(copy.File("records.db"), 6000, 0, Pauses());
    if (!stored.ok()) continue;  // so early that not even the tables are there
    EXPECT_EQ(stored->recorded.count() % 500, 0u);
    EXPECT_GE(stored->recorded.count(), most);
    most = stored->recorded.count();
  }
  EXPECT_EQ(most, 6000u) << "a whole log";
}

TEST(SpoolScanTest, FindsWhatIsOpenAndItsHosts) {
  const TempFolder folder;
  auto spool = UrlSpool::Create(folder.File("spool"));
  ASSERT_TRUE((*spool)->Add(0, "https://a.example/", "a.example").ok());
  ASSERT_TRUE((*spool)->Add(1, "https://b.example/", "b.example").ok());
  ASSERT_TRUE((*spool)->Add(3, "http://c.example/", "c.example").ok());
  ASSERT_TRUE((*spool)->Add(4, "https://A.example/2", "a.example").ok());
  ASSERT_TRUE((*spool)->Finish().ok());
  IndexSet recorded(5);
  recorded.Add(1);
  recorded.Add(2);  // a line that is no URL
  const SpoolScan scan = ScanSpool(**spool, recorded, 10);
  ASSERT_TRUE(scan.status.ok()) << scan.status;
  EXPECT_EQ(scan.urls, 4u);
  EXPECT_EQ(scan.open, 3u);
  EXPECT_THAT(scan.hosts, ElementsAre("a.example"));
  EXPECT_EQ(scan.remaining[PartitionOf("a.example")], 2u);
  EXPECT_TRUE(absl::IsDataLoss(ScanSpool(**spool, IndexSet(4), 10).status)) << "4 is beyond it";
}

TEST(RunFolderLockTest, OneCoordinatorAtATime) {
  const TempFolder folder;
  {
    auto first = RunFolder::Create(folder.path(), "run");
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = RunFolder::Open(folder.File("run"));
    EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
    EXPECT_THAT(std::string(second.status().message()),
                HasSubstr("process " + std::to_string(getpid())));
    first->SignOfLife(kBegin + 5);
  }
  const auto later = RunFolder::Open(folder.File("run"));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(later->LastSignOfLife(), kBegin + 5) << "to look is no sign of life";
  EXPECT_TRUE(absl::IsNotFound(RunFolder::Open(folder.path()).status()));
}

class RunJournalTest : public ::testing::Test {
 protected:
  RunJournal Begin() {
    RunOptions options;
    options.target = *TargetRegistry().Find("native");
    options.urls = "list.txt";
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
    folder_.Write("run/urls.spool", "x");
    folder_.Write("run/records.db", "x");
  }

  // What NoteFeeding gives, as lengths in seconds.
  static double Feed(RunJournal& journal) {
    const auto pause = journal.NoteFeeding({}, {}, "");
    EXPECT_TRUE(pause.ok()) << pause.status();
    return static_cast<double>(pause->Length()) / kSecond;
  }

  void Pass(int seconds) { clock_.Advance(std::chrono::seconds(seconds)); }

  const TempFolder folder_;
  FakeClock clock_;
};

TEST_F(RunJournalTest, APauseLastsFromTheLastSignOfLifeUntilUrlsFlowAgain) {
  {
    RunJournal first = Begin();
    ASSERT_TRUE(first.NoteList(5, 0).ok());
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
    ASSERT_TRUE(first.NoteList(5, 0).ok());
    Feed(first);
    MakeFiles();
    first.SignOfLife();
  }
  Pass(30);
  RunJournal second = GoOn();
  second.NotDownBefore(second.state().down_since_us + 10 * kSecond);
  EXPECT_EQ(Feed(second), 20);
}

TEST_F(RunJournalTest, ACompleteRunLosesItsListAndIsRefused) {
  {
    RunJournal journal = Begin();
    ASSERT_TRUE(journal.NoteList(5, 0).ok());
    MakeFiles();
    Summary summary;
    ASSERT_TRUE(journal.NoteEnd(summary).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.File("run/urls.spool")));
  const auto refused = TakeUp();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("complete"));
}

TEST_F(RunJournalTest, ARunWhoseListWasNotReadBeginsAnewFromItsFile) {
  { const RunJournal journal = Begin(); }
  const auto taken = TakeUp();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE(taken->state.list_loaded);
  EXPECT_TRUE(std::filesystem::path(taken->state.options.urls).is_absolute());
}

TEST(DegradedInWordsTest, NamesAgentsAndMovedUrlsButNotAHundredOfThem) {
  EXPECT_THAT(DegradedInWords({AgentSummary{}}), IsEmpty());
  AgentSummary lost;
  lost.name = "b";
  lost.lost = true;
  lost.trouble = "refused";
  lost.urls_moved = 1200;
  AgentSummary back;
  back.name = "c";
  back.reconnects = 2;
  EXPECT_EQ(DegradedInWords({AgentSummary{}, lost, back}),
            "b lost (refused), 1,200 URLs moved; c came back 2 times");
  const std::string many = DegradedInWords(std::vector<AgentSummary>(100, lost));
  EXPECT_THAT(many, HasSubstr("and 95 more agents"));
}

}  // namespace
}  // namespace fetchbench::coordinator
