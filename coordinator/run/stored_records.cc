#include "coordinator/run/stored_records.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "common/record_numbers.h"

namespace fetchbench::coordinator {
namespace {

// More agents than any fleet has: a damaged file must not make us reserve memory.
constexpr int kMaxAgents = 100'000;

// The numbers of a record, as its columns are called in the file too.
struct NumberColumn {
  const char* name;
  int64_t ToldNumbers::*number;
  bool may_be_null;  // which says that it was not told
};
constexpr std::array<NumberColumn, 11> kNumbers{
    {{"outcome", &ToldNumbers::outcome, false},
     {"status", &ToldNumbers::status, true},
     {"start_us", &ToldNumbers::start_us, false},
     {"duration_us", &ToldNumbers::duration_us, false},
     {"dns_us", &ToldNumbers::dns_us, true},
     {"connect_us", &ToldNumbers::connect_us, true},
     {"tls_us", &ToldNumbers::tls_us, true},
     {"first_byte_us", &ToldNumbers::first_byte_us, true},
     {"body_bytes", &ToldNumbers::body_bytes, false},
     {"wire_bytes", &ToldNumbers::wire_bytes, true},
     {"redirects", &ToldNumbers::redirects, true}}};

// Columns of what is selected; from kFirstNumber on those of kNumbers.
constexpr int kRow = 0;
constexpr int kIndex = 1;
constexpr int kAgent = 2;
constexpr int kFirstNumber = 3;

std::string Select() {
  std::string columns = "rowid, idx, agent";
  for (const NumberColumn& column : kNumbers) columns += fmt::format(", {}", column.name);
  return "SELECT " + columns + " FROM record";
}

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

std::string IsOdd(std::string_view column, const SQLite::Column& cell) {
  if (!cell.isInteger()) return fmt::format("{} is no whole number", column);
  return fmt::format("{} is {}", column, cell.getInt64());
}

// What is wrong with the numbers of a row, in words; empty: nothing.
std::string ReadNumbers(SQLite::Statement& row, Record& record) {
  ToldNumbers told;
  int at = kFirstNumber;
  for (const NumberColumn& column : kNumbers) {
    const SQLite::Column cell = row.getColumn(at++);
    if (!cell.isInteger()) {
      if (column.may_be_null && cell.isNull()) continue;
      return IsOdd(column.name, cell);
    }
    told.*column.number = cell.getInt64();
    // No number says "not told" here.
    if (column.may_be_null && told.*column.number < 0) return IsOdd(column.name, cell);
  }
  const std::string_view wrong = TakeNumbers(told, record);
  for (const NumberColumn& column : kNumbers) {
    if (wrong == column.name) return fmt::format("{} is {}", wrong, told.*column.number);
  }
  return {};
}

// As ReadNumbers. `agent`: -1 is this program.
std::string ReadAgent(SQLite::Statement& row, int& agent) {
  const SQLite::Column cell = row.getColumn(kAgent);
  const int64_t told = cell.getInt64();
  if (!cell.isInteger() || told < -1 || told >= kMaxAgents) return IsOdd("agent", cell);
  agent = static_cast<int>(told);
  return {};
}

void CountFor(int agent, std::vector<uint64_t>& by_agent) {
  if (agent < 0) return;
  const auto number = static_cast<size_t>(agent);
  if (by_agent.size() <= number) by_agent.resize(number + 1);
  ++by_agent[number];
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
  SQLite::Statement rows(db, Select());
  while (rows.executeStep()) {
    const SQLite::Column index = rows.getColumn(kIndex);
    if (!index.isInteger()) {
      return Damaged(
          path, fmt::format("row {}: {}", rows.getColumn(kRow).getInt64(), IsOdd("idx", index)));
    }
    Record record;
    record.index = static_cast<uint64_t>(index.getInt64());
    int agent = -1;
    std::string odd = ReadNumbers(rows, record);
    if (odd.empty()) odd = ReadAgent(rows, agent);
    if (!odd.empty()) return Damaged(path, fmt::format("index {}: {}", record.index, odd));
    if (!stored.recorded.Add(record.index)) {
      return Damaged(path, fmt::format("index {} has two records, or is none of the run's {}",
                                       record.index, stored.recorded.size()));
    }
    stored.aggregator.Add(record);
    stored.last_end_us = std::max(stored.last_end_us, record.start_us + record.duration_us);
    CountFor(agent, stored.by_agent);
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
    // One thread uses it: SQLite's own locks, two a value, would be a good part of the cost.
    SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX);
    stored.cut_short = TakeOutCutShort(db);
    if (absl::Status s = ReadAll(db, path, stored); !s.ok()) return s;
  } catch (const SQLite::Exception& e) {
    if (MeansDamage(e)) return Damaged(path, e.what());
    return absl::UnavailableError(fmt::format("cannot read the run store {}: {}", path, e.what()));
  }
  return stored;
}

}  // namespace fetchbench::coordinator
