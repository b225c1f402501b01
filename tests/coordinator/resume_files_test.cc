// What going on with a run reads back from its folder: store, spool and lock.

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <semaphore>
#include <string>

#include "coordinator/run/run_folder.h"
#include "coordinator/run/run_store.h"
#include "coordinator/run/spool_scan.h"
#include "coordinator/run/stored_records.h"
#include "tests/coordinator/resume_samples.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::Answer;
using fetchbench::test::kBegin;
using fetchbench::test::kSecond;
using fetchbench::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// What is wrong with it, and what to do, which is another thing than for one that is only held.
TEST_F(StoredRecordsTest, DamageIsToldFromWhatPasses) {
  const auto expect_damage = [this] {
    const absl::Status status = TakeUpRecords(path_, 3, 0, Pauses()).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith(path_ + ": the file is damaged ("), HasSubstr("begin a new run"),
                      HasSubstr("sqlite3 " + path_ + " .recover")));
  };
  folder_.Write("records.db", "no database at all, whatever its name says");
  expect_damage();
  std::filesystem::remove(path_);
  {
    SQLite::Database(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE a(b)");
  }
  expect_damage();
  std::filesystem::remove(path_);
  Store({Answer(0, kBegin), Answer(0, kBegin)}, false);
  expect_damage();
  std::filesystem::remove(path_);
  Store({Answer(0, kBegin)});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  expect_damage();
  std::filesystem::remove(path_);
  Store({Answer(0, kBegin)});
  SQLite::Database other(path_, SQLite::OPEN_READWRITE);
  other.exec("BEGIN EXCLUSIVE");
  const absl::Status status = TakeUpRecords(path_, 3, 0, Pauses()).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

// A number that no agent may hand in, and the words for it.
struct OddNumber {
  std::string column;
  std::string value;
  std::string told;  // empty: the value
};

class OddRecordTest : public StoredRecordsTest, public ::testing::WithParamInterface<OddNumber> {};

TEST_P(OddRecordTest, IsDamageNamedByIndexAndColumn) {
  const OddNumber& odd = GetParam();
  Store({Answer(0, kBegin), Answer(7, kBegin)});
  {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE);
    ASSERT_EQ(db.exec("UPDATE record SET " + odd.column + " = " + odd.value + " WHERE idx = 7"), 1);
  }
  const absl::Status status = TakeUpRecords(path_, 8, 0, Pauses()).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith(path_ + ": the file is damaged (index 7: " + odd.column + " is " +
                               (odd.told.empty() ? odd.value : odd.told) + ")"),
                    HasSubstr("begin a new run")));
}

// Those that are 2^8 or 2^32 and a sound number were taken for it.
INSTANTIATE_TEST_SUITE_P(
    OfEachColumn, OddRecordTest,
    ::testing::Values(
        OddNumber{"outcome", "0", ""}, OddNumber{"outcome", "24", ""},
        OddNumber{"outcome", "99", ""}, OddNumber{"outcome", "257", ""},
        OddNumber{"outcome", "4294967297", ""}, OddNumber{"outcome", "'status'", "no whole number"},
        OddNumber{"status", "1000", ""}, OddNumber{"status", "-1", ""},
        OddNumber{"status", "99", ""}, OddNumber{"status", "4294967496", ""},
        OddNumber{"status", "NULL", "0"}, OddNumber{"start_us", "576460752303423488", ""},
        OddNumber{"start_us", "-576460752303423488", ""},
        OddNumber{"start_us", "9223372036854775807", ""},
        OddNumber{"start_us", "1.5", "no whole number"}, OddNumber{"duration_us", "-1", ""},
        OddNumber{"duration_us", "9007199254740992", ""}, OddNumber{"dns_us", "-1", ""},
        OddNumber{"connect_us", "-7", ""}, OddNumber{"tls_us", "9007199254740992", ""},
        OddNumber{"first_byte_us", "x'00'", "no whole number"}, OddNumber{"body_bytes", "-1", ""},
        OddNumber{"body_bytes", "9007199254740992", ""}, OddNumber{"wire_bytes", "-2", ""},
        OddNumber{"wire_bytes", "9007199254740992", ""}, OddNumber{"redirects", "-1", ""},
        OddNumber{"redirects", "1000000", ""}, OddNumber{"redirects", "4294967297", ""},
        OddNumber{"agent", "-2", ""}, OddNumber{"agent", "100000", ""},
        OddNumber{"agent", "4294967296", ""}),
    [](const auto& test) { return fmt::format("{}{}", test.param.column, test.index); });

TEST_F(StoredRecordsTest, ARecordWithoutAWholeIndexIsDamage) {
  Store({Answer(0, kBegin), Answer(7, kBegin)});
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("UPDATE record SET idx = 1.5 WHERE idx = 7");
  const absl::Status status = TakeUpRecords(path_, 8, 0, Pauses()).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(row 2: idx is no whole number)"));
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
  std::binary_semaphore committed(0);
  auto store = RunStore::Create(path_, {[&](auto) { committed.release(); }, [](auto) {}});
  ASSERT_TRUE(store.ok());
  for (uint64_t index = 0; index < 6000;) {
    CommitBatch batch;
    batch.agent = 0;
    for (int i = 0; i < 500; ++i) batch.Add(Answer(index++, kBegin), "https://a.example/");
    (*store)->Push(std::move(batch));
    committed.acquire();  // so that each is a transaction, and the last is in the log
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

}  // namespace
}  // namespace fetchbench::coordinator
