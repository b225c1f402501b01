#include "coordinator/run/stored_records.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace fetchbench::coordinator {
namespace {

// More agents than any fleet has: a damaged file must not make us reserve memory.
constexpr int kMaxAgents = 100'000;

constexpr const char* kSelect =
    "SELECT idx, outcome, coalesce(status, 0), start_us, duration_us, body_bytes, wire_bytes, "
    "redirects, agent FROM record";

absl::Status Damaged(const std::string& path, std::string_view how) {
  return absl::DataLossError(
      fmt::format("{}: the file is damaged ({}), and the run cannot be resumed. Put the file back "
                  "if there is a "
                  "copy of it, else begin a new run; what is left of the records, `sqlite3 {} "
                  ".recover` may get "
                  "out",
                  path, how, path));
}

// Not of the file itself: that it is held by somebody, that the disk is full, that it cannot be
// read.
bool MeansDamage(const SQLite::Exception& e) {
  // An error of SQL: there are no such tables.
  return e.getErrorCode() == SQLITE_CORRUPT || e.getErrorCode() == SQLITE_NOTADB ||
         e.getErrorCode() == SQLITE_ERROR;
}

int64_t ToldOrNot(const SQLite::Column& column) {
  return column.isNull() ? int64_t{kNotTold} : column.getInt64();
}

uint64_t TakeOutCutShort(SQLite::Database& db) {
  SQLite::Transaction transaction(db);
  db.exec("DROP INDEX IF EXISTS record_idx");
  SQLite::Statement remove(db, "DELETE FROM record WHERE outcome IN (?, ?)");
  remove.bind(1, static_cast<int>(Outcome::kCancelled));
  remove.bind(2, static_cast<int>(Outcome::kClientCrashed));
  const int removed = remove.exec();
  transaction.commit();
  return static_cast<uint64_t>(removed);
}

absl::Status ReadAll(SQLite::Database& db, const std::string& path, StoredRecords& stored) {
  SQLite::Statement rows(db, kSelect);
  while (rows.executeStep()) {
    Record record;
    record.index = static_cast<uint64_t>(rows.getColumn(0).getInt64());
    record.outcome = static_cast<Outcome>(rows.getColumn(1).getInt());
    record.status = rows.getColumn(2).getInt();
    record.start_us = rows.getColumn(3).getInt64();
    record.duration_us = rows.getColumn(4).getInt64();
    record.body_bytes = rows.getColumn(5).getInt64();
    record.wire_bytes = ToldOrNot(rows.getColumn(6));
    record.redirects = static_cast<int>(ToldOrNot(rows.getColumn(7)));
    if (!stored.recorded.Add(record.index)) {
      return Damaged(path, fmt::format("index {} has two records, or is none of the run's {}",
                                       record.index, stored.recorded.size()));
    }
    stored.aggregator.Add(record);
    stored.last_end_us = std::max(stored.last_end_us, record.start_us + record.duration_us);
    const int agent = rows.getColumn(8).getInt();
    if (agent < 0 || agent >= kMaxAgents) continue;
    const auto number = static_cast<size_t>(agent);
    if (stored.by_agent.size() <= number) stored.by_agent.resize(number + 1);
    ++stored.by_agent[number];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoredRecords> TakeUpRecords(const std::string& path, uint64_t total,
                                            int64_t timeout_us, const Pauses& pauses) {
  StoredRecords stored;
  stored.recorded = IndexSet(total);
  stored.aggregator = Aggregator(timeout_us, pauses);
  try {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    stored.cut_short = TakeOutCutShort(db);
    if (absl::Status s = ReadAll(db, path, stored); !s.ok()) return s;
  } catch (const SQLite::Exception& e) {
    if (MeansDamage(e)) return Damaged(path, e.what());
    return absl::UnavailableError(fmt::format("cannot read the run store {}: {}", path, e.what()));
  }
  return stored;
}

}  // namespace fetchbench::coordinator
