#include "coordinator/verify/record_reader.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

namespace fetchbench::coordinator {

absl::StatusOr<std::vector<std::optional<Record>>> ReadRecords(const std::string& path,
                                                               size_t count) {
  constexpr int kBusyMs = 5'000;
  std::vector<std::optional<Record>> records(count);
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY, kBusyMs);
    SQLite::Statement rows(database,
                           "SELECT idx, outcome, coalesce(status, 0), coalesce(error, ''), "
                           "coalesce(start_us, 0), coalesce(duration_us, 0), "
                           "coalesce(body_bytes, 0), redirects FROM record");
    while (rows.executeStep()) {
      const int64_t index = rows.getColumn(0).getInt64();
      if (index < 0 || static_cast<size_t>(index) >= count) continue;
      Record& record = records[static_cast<size_t>(index)].emplace();
      record.index = static_cast<uint64_t>(index);
      record.outcome = static_cast<Outcome>(rows.getColumn(1).getInt());
      record.status = rows.getColumn(2).getInt();
      record.error = rows.getColumn(3).getString();
      record.start_us = rows.getColumn(4).getInt64();
      record.duration_us = rows.getColumn(5).getInt64();
      record.body_bytes = rows.getColumn(6).getInt64();
      record.redirects =
          rows.isColumnNull(7) ? static_cast<int>(kNotTold) : rows.getColumn(7).getInt();
    }
  } catch (const SQLite::Exception& e) {
    return absl::InternalError(fmt::format("{}: {}", path, e.what()));
  }
  return records;
}

}  // namespace fetchbench::coordinator
