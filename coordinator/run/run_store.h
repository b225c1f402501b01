#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/run/commit_batch.h"

namespace fetchbench::coordinator {

// A run's records.db: SQLite in WAL mode with synchronous=NORMAL. A crash of this program, SIGKILL
// in the middle of a commit included, loses nothing committed. A power cut leaves a sound file that
// may lack the last transactions, which agents have been told to forget: a run that is resumed
// fetches those URLs again. One row a record:
//
//   record(idx, url, outcome, status, error, start_us, duration_us, dns_us, connect_us, tls_us,
//          first_byte_us, body_bytes, wire_bytes, redirects, remote_address, http_version,
//          tls_version, agent)      outcome: number in `outcome`; NULL: not told; agent: -1 this
//          program
//   outcome(code, name)
//   records                         the view for people: names, milliseconds, RFC 3339 times
//
// Rows are appended in the order of their commits, which is several times faster than in the order
// of their index; Finish() then builds the unique index on idx, so that a finished file cannot hold
// two records of one index.
//
// A thread of its own does all the work. Push() never waits: the caller bounds what it has pushed
// and not seen committed.
class RunStore {
 public:
  // A transaction holds so many rows at most. It begins when kRowsWorthwhile wait, or kLinger after
  // the first of fewer: many small ones would cost more in switching threads than in writing.
  static constexpr size_t kRowsPerTransaction = 20'000;
  static constexpr size_t kRowsWorthwhile = 5'000;
  static constexpr std::chrono::milliseconds kLinger{10};

  // Both are called on the store's thread.
  struct Callbacks {
    std::function<void(std::vector<CommitBatch>)> committed;  // in the order they were pushed
    std::function<void(absl::Status)> failed;  // once; nothing is committed any more afterwards
  };

  // Creates the file; an existing one is an error, since a run has its own folder.
  static absl::StatusOr<std::unique_ptr<RunStore>> Create(const std::string& path,
                                                          Callbacks callbacks);
  // Goes on with the file of an earlier session, after TakeUpRecords.
  static absl::StatusOr<std::unique_ptr<RunStore>> Open(const std::string& path,
                                                        Callbacks callbacks);
  ~RunStore();  // as Abandon()
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  // Any thread.
  void Push(CommitBatch batch);

  // Commits what was pushed, builds the unique index unless told not to (an interrupted run has no
  // time for it: about a second for a million rows), and closes the file. Blocks. Once; no Push
  // afterwards. The first error of the run if there was one.
  absl::Status Finish(bool build_index = true);
  // Drops what is not committed and closes the file.
  void Abandon();

 private:
  class Writer;
  enum class File { kNew, kExisting };

  static absl::StatusOr<std::unique_ptr<RunStore>> Begin(const std::string& path, File file,
                                                         Callbacks callbacks);
  RunStore(std::unique_ptr<Writer> writer, Callbacks callbacks);
  void Run();
  bool CommitSome(std::vector<CommitBatch> batches);
  std::vector<CommitBatch> WaitForWork();
  void Fail(absl::Status status);

  Callbacks callbacks_;
  std::unique_ptr<Writer> writer_;  // the thread's
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<CommitBatch> queue_;
  size_t queued_rows_ = 0;
  bool finish_ = false;
  bool build_index_ = true;
  bool abandon_ = false;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace fetchbench::coordinator
