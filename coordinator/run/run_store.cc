#include "coordinator/run/run_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/outcome.h"

namespace fetchbench::coordinator {
namespace {

// What comes before the first record of an agent, the lines that are no URL, lasts through a power
// cut: nothing could bring it back. Afterwards commits are not waited for until they are on disk.
// A WAL of so many pages (64 MiB) is copied into the file: few, long copies are cheaper than many.
constexpr const char* kPragmas =
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=4096; PRAGMA cache_size=-16384; PRAGMA temp_store=FILE;"
    "PRAGMA locking_mode=NORMAL";

constexpr const char* kSchema = R"sql(
CREATE TABLE outcome(code INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE record(
  idx INTEGER NOT NULL, url TEXT NOT NULL, outcome INTEGER NOT NULL, status INTEGER, error TEXT,
  start_us INTEGER NOT NULL, duration_us INTEGER NOT NULL, dns_us INTEGER, connect_us INTEGER,
  tls_us INTEGER, first_byte_us INTEGER, body_bytes INTEGER NOT NULL, wire_bytes INTEGER,
  redirects INTEGER, remote_address TEXT, http_version TEXT, tls_version TEXT,
  agent INTEGER NOT NULL);
CREATE VIEW records AS SELECT
  idx, url, o.name AS outcome, status, error,
  strftime('%Y-%m-%dT%H:%M:%S', start_us / 1000000, 'unixepoch')
    || printf('.%06dZ', start_us % 1000000) AS start,
  duration_us / 1000.0 AS duration_ms, dns_us / 1000.0 AS dns_ms, connect_us / 1000.0 AS connect_ms,
  tls_us / 1000.0 AS tls_ms, first_byte_us / 1000.0 AS first_byte_ms, body_bytes, wire_bytes,
  redirects, remote_address, http_version, tls_version, agent
  FROM record r JOIN outcome o ON o.code = r.outcome;
)sql";

constexpr const char* kInsert = "INSERT INTO record VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

}  // namespace

// All that touches SQLite. Throws SQLite::Exception; RunStore turns that into a Status.
class RunStore::Writer {
 public:
  Writer(const std::string& path, File file)
      // One thread at a time uses it: SQLite's own locks, one or two a bound value, would be a
      // tenth of the whole cost.
      : path_(path), db_(path, FlagsFor(file)) {
    db_.exec(kPragmas);
    const bool used = db_.tableExists("record");
    if (file == File::kNew && used) throw SQLite::Exception("the file holds a run already");
    if (file == File::kExisting && !used) throw SQLite::Exception("the file holds no run");
    if (file == File::kNew) CreateTables();
    insert_.emplace(db_, kInsert);
  }

  void Commit(const std::vector<CommitBatch>& batches) {
    if (syncing_ && AnyFromAgent(batches)) {
      syncing_ = false;
      db_.exec("PRAGMA synchronous=NORMAL");
    }
    SQLite::Transaction transaction(db_);
    for (const CommitBatch& batch : batches) {
      const int agent =
          batch.agent == CommitBatch::kFromCoordinator ? -1 : static_cast<int>(batch.agent);
      for (size_t i = 0; i < batch.records.size(); ++i) {
        Insert(batch.records[i], batch.Url(i), agent);
      }
    }
    transaction.commit();
  }

  void Close(bool build_index) {
    insert_.reset();
    if (build_index) db_.exec("CREATE UNIQUE INDEX record_idx ON record(idx)");
    db_.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  const std::string& path() const { return path_; }

 private:
  static bool AnyFromAgent(const std::vector<CommitBatch>& batches) {
    return std::any_of(batches.begin(), batches.end(), [](const CommitBatch& batch) {
      return batch.agent != CommitBatch::kFromCoordinator;
    });
  }

  static int FlagsFor(File file) {
    return SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX |
           (file == File::kNew ? SQLite::OPEN_CREATE : 0);
  }

  void CreateTables() {
    SQLite::Transaction transaction(db_);
    db_.exec(kSchema);
    SQLite::Statement outcome(db_, "INSERT INTO outcome VALUES(?,?)");
    for (int i = 1; i < kOutcomeCount; ++i) {
      outcome.bind(1, i);
      outcome.bind(2, std::string(OutcomeName(static_cast<Outcome>(i))));
      outcome.exec();
      outcome.reset();
    }
    transaction.commit();
  }

  void Insert(const Record& r, std::string_view url, int agent) {
    SQLite::Statement& s = *insert_;
    BindInt(1, static_cast<int64_t>(r.index));
    url_.assign(url);
    s.bindNoCopy(2, url_);  // a URL may hold NUL bytes (invalid_url): its length goes with it
    s.bind(3, static_cast<int>(r.outcome));
    BindTold(4, r.status == 0 ? kNotTold : r.status);
    BindToldText(5, r.error);
    BindInt(6, r.start_us);
    BindInt(7, r.duration_us);
    BindTold(8, r.dns_us);
    BindTold(9, r.connect_us);
    BindTold(10, r.tls_us);
    BindTold(11, r.first_byte_us);
    BindInt(12, r.body_bytes);
    BindTold(13, r.wire_bytes);
    BindTold(14, r.redirects);
    BindToldText(15, r.remote_address);
    BindToldText(16, r.http_version);
    BindToldText(17, r.tls_version);
    s.bind(18, agent);
    s.exec();
    s.reset();
  }

  void BindInt(int column, int64_t value) { insert_->bind(column, value); }
  void BindTold(int column, int64_t value) {
    if (value == kNotTold) {
      insert_->bind(column);
    } else {
      insert_->bind(column, value);
    }
  }
  // Not copied: a record outlives the step.
  void BindToldText(int column, const std::string& text) {
    if (text.empty()) {
      insert_->bind(column);
    } else {
      insert_->bindNoCopy(column, text);
    }
  }

  std::string path_;
  SQLite::Database db_;
  bool syncing_ = true;
  std::optional<SQLite::Statement> insert_;
  std::string url_;
};

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::Create(const std::string& path,
                                                           Callbacks callbacks) {
  return Begin(path, File::kNew, std::move(callbacks));
}

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::Open(const std::string& path,
                                                         Callbacks callbacks) {
  return Begin(path, File::kExisting, std::move(callbacks));
}

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::Begin(const std::string& path, File file,
                                                          Callbacks callbacks) {
  try {
    return std::unique_ptr<RunStore>(
        new RunStore(std::make_unique<Writer>(path, file), std::move(callbacks)));
  } catch (const std::exception& e) {
    return absl::UnavailableError(fmt::format(
        "cannot {} the run store {}: {}", file == File::kNew ? "create" : "open", path, e.what()));
  }
}

RunStore::RunStore(std::unique_ptr<Writer> writer, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), writer_(std::move(writer)) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "store");
}

RunStore::~RunStore() { Abandon(); }

void RunStore::Push(CommitBatch batch) {
  const std::lock_guard lock(mutex_);
  const bool first = queue_.empty();
  queued_rows_ += batch.records.size();
  queue_.push_back(std::move(batch));
  if (first || queued_rows_ >= kRowsWorthwhile) work_.notify_one();
}

absl::Status RunStore::Finish(bool build_index) {
  {
    const std::lock_guard lock(mutex_);
    build_index_ = build_index;
    finish_ = true;
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  return status_;
}

void RunStore::Abandon() {
  {
    const std::lock_guard lock(mutex_);
    abandon_ = true;
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// Empty: there will be no more.
std::vector<CommitBatch> RunStore::WaitForWork() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return !queue_.empty() || finish_ || abandon_; });
  work_.wait_for(lock, kLinger,
                 [this] { return queued_rows_ >= kRowsWorthwhile || finish_ || abandon_; });
  std::vector<CommitBatch> batches;
  size_t rows = 0;
  while (!abandon_ && !queue_.empty() && (rows == 0 || rows < kRowsPerTransaction)) {
    rows += queue_.front().records.size();
    batches.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_rows_ -= rows;
  return batches;
}

void RunStore::Run() {
  while (true) {
    std::vector<CommitBatch> batches = WaitForWork();
    if (batches.empty()) break;
    if (!CommitSome(std::move(batches))) break;
  }
  if (status_.ok() && finish_ && !abandon_) {
    try {
      writer_->Close(build_index_);
    } catch (const std::exception& e) {
      Fail(absl::UnavailableError(
          fmt::format("finishing the run store {} failed: {}", writer_->path(), e.what())));
    }
  }
  writer_.reset();
}

bool RunStore::CommitSome(std::vector<CommitBatch> batches) {
  try {
    writer_->Commit(batches);
  } catch (const std::exception& e) {
    Fail(
        absl::UnavailableError(fmt::format("cannot write to the run store {}: {}; what was "
                                           "committed before is kept, and the run can be "
                                           "resumed once there is room",
                                           writer_->path(), e.what())));
    return false;
  }
  callbacks_.committed(std::move(batches));
  return true;
}

void RunStore::Fail(absl::Status status) {
  status_ = status;
  callbacks_.failed(std::move(status));
}

}  // namespace fetchbench::coordinator
