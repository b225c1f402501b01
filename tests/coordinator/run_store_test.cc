#include "coordinator/run/run_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <condition_variable>
#include <string>

#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

Record FullRecord(uint64_t index) {
  Record r;
  r.index = index;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = 1'700'000'000'123'456;
  r.duration_us = 1500;
  r.dns_us = 100;
  r.connect_us = 200;
  r.tls_us = 300;
  r.first_byte_us = 900;
  r.body_bytes = 4096;
  r.wire_bytes = 5000;
  r.redirects = 1;
  r.remote_address = "127.64.0.1:443";
  r.http_version = "1.1";
  r.tls_version = "1.3";
  return r;
}

CommitBatch Batch(uint64_t first, uint64_t count, uint64_t seq = 1) {
  CommitBatch batch;
  batch.agent = 0;
  batch.seq = seq;
  for (uint64_t i = first; i < first + count; ++i) {
    batch.Add(FullRecord(i), "https://h" + std::to_string(i) + ".example/");
  }
  return batch;
}

// What the store's thread told.
struct Log {
  std::mutex mutex;
  std::vector<uint64_t> seqs;
  uint64_t rows = 0;
  absl::Status failure;

  RunStore::Callbacks Callbacks() {
    RunStore::Callbacks callbacks;
    callbacks.committed = [this](const std::vector<CommitBatch>& batches) {
      const std::lock_guard lock(mutex);
      for (const CommitBatch& batch : batches) {
        seqs.push_back(batch.seq);
        rows += batch.records.size();
      }
    };
    callbacks.failed = [this](absl::Status status) {
      const std::lock_guard lock(mutex);
      failure = std::move(status);
    };
    return callbacks;
  }
};

std::string Ask(const std::string& path, const std::string& question) {
  SQLite::Database db(path, SQLite::OPEN_READONLY);
  return db.execAndGet(question).getString();
}

TEST(RunStoreTest, StoresEveryFieldAndShowsItToPeople) {
  const TempFolder folder;
  Log log;
  auto store = RunStore::Create(folder.File("records.db"), log.Callbacks());
  ASSERT_TRUE(store.ok()) << store.status();
  (*store)->Push(Batch(7, 1));
  ASSERT_TRUE((*store)->Finish().ok());
  EXPECT_EQ(
      Ask(folder.File("records.db"),
          "SELECT idx||' '||url||' '||outcome||' '||status||' '||start||' '||duration_ms||' '||"
          "dns_ms||' '||connect_ms||' '||tls_ms||' '||first_byte_ms||' '||body_bytes||' '||"
          "wire_bytes||' '||redirects||' '||remote_address||' '||http_version||' '||"
          "tls_version||' '||agent FROM records"),
      "7 https://h7.example/ status 200 2023-11-14T22:13:20.123456Z 1.5 0.1 0.2 0.3 0.9 4096 "
      "5000 1 127.64.0.1:443 1.1 1.3 0");
}

TEST(RunStoreTest, WhatWasNotToldIsNull) {
  const TempFolder folder;
  Log log;
  auto store = RunStore::Create(folder.File("records.db"), log.Callbacks());
  CommitBatch batch = Batch(0, 1);  // fills every column, so that the next must clear them
  Record record;
  record.index = 1;
  record.outcome = Outcome::kDnsNotFound;
  record.error = "no such host";
  batch.Add(record, "https://x.example");
  (*store)->Push(std::move(batch));
  ASSERT_TRUE((*store)->Finish().ok());
  EXPECT_EQ(Ask(folder.File("records.db"),
                "SELECT count(*) FROM records WHERE idx=1 AND outcome='dns_not_found' AND "
                "error='no such host' AND status IS NULL AND dns_ms IS NULL AND wire_bytes IS NULL "
                "AND redirects IS NULL AND remote_address IS NULL AND tls_version IS NULL"),
            "1");
}

TEST(RunStoreTest, TellsOfCommitsInOrder) {
  const TempFolder folder;
  Log log;
  auto store = RunStore::Create(folder.File("records.db"), log.Callbacks());
  std::vector<uint64_t> pushed;
  for (uint64_t seq = 1; seq <= 200; ++seq) {
    (*store)->Push(Batch(seq * 1000, 300, seq));
    pushed.push_back(seq);
  }
  ASSERT_TRUE((*store)->Finish().ok());
  EXPECT_EQ(log.seqs, pushed);
  EXPECT_EQ(log.rows, 60'000u);
  EXPECT_EQ(Ask(folder.File("records.db"), "SELECT count(*) FROM record"), "60000");
}

TEST(RunStoreTest, KeepsUrlsWithNulBytesWhole) {
  const TempFolder folder;
  Log log;
  auto store = RunStore::Create(folder.File("records.db"), log.Callbacks());
  CommitBatch batch;
  batch.Add(FullRecord(0), std::string_view("a\0b", 3));
  (*store)->Push(std::move(batch));
  ASSERT_TRUE((*store)->Finish().ok());
  EXPECT_EQ(Ask(folder.File("records.db"), "SELECT length(CAST(url AS BLOB)) FROM record"), "3");
}

TEST(RunStoreTest, AFinishedFileCannotHoldTwoRecordsOfOneIndex) {
  const TempFolder folder;
  Log log;
  auto store = RunStore::Create(folder.File("records.db"), log.Callbacks());
  (*store)->Push(Batch(5, 1, 1));
  (*store)->Push(Batch(5, 1, 2));
  const absl::Status finished = (*store)->Finish();
  EXPECT_THAT(std::string(finished.message()), HasSubstr("UNIQUE"));
}

TEST(RunStoreTest, DoesNotWriteIntoAnotherRunsFile) {
  const TempFolder folder;
  Log log;
  { ASSERT_TRUE(RunStore::Create(folder.File("records.db"), log.Callbacks()).ok()); }
  const auto again = RunStore::Create(folder.File("records.db"), log.Callbacks());
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("holds a run already"));
}

TEST(RunStoreTest, SaysWhereItCannotCreateItsFile) {
  Log log;
  const auto store = RunStore::Create("/no/such/folder/records.db", log.Callbacks());
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("/no/such/folder/records.db"));
}

TEST(RunStoreTest, AFullDiskIsAClearFailureAndKeepsWhatWasCommitted) {
  const TempFolder folder;
  const std::string disk = folder.File("disk");
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "needs the right to mount a small file system";
  }
  Log log;
  uint64_t committed = 0;
  {
    auto store = RunStore::Create(disk + "/records.db", log.Callbacks());
    ASSERT_TRUE(store.ok()) << store.status();
    for (uint64_t seq = 1; seq <= 100; ++seq) (*store)->Push(Batch(seq * 1000, 1000, seq));
    const absl::Status finished = (*store)->Finish();
    EXPECT_FALSE(finished.ok());
    EXPECT_THAT(std::string(log.failure.message()), HasSubstr("records.db"));
    committed = log.rows;
    EXPECT_LT(committed, 100'000u);
  }
  EXPECT_EQ(Ask(disk + "/records.db", "SELECT count(*) FROM record"), std::to_string(committed));
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace fetchbench::coordinator
