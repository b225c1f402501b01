#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/run/index_set.h"
#include "coordinator/summary/aggregator.h"

namespace fetchbench::coordinator {

// What the store of a run holds that was begun earlier.
struct StoredRecords {
  IndexSet recorded;
  Aggregator aggregator{0};
  std::vector<uint64_t> by_agent;  // records of agent i; those of this program are in none
  uint64_t cut_short = 0;          // records taken out, see below
  int64_t last_end_us = 0;         // when the last fetch ended; 0: none did
};

// Reads records.db (run_store.h) of a run of `total` indices, for a coordinator that goes on with
// it. Blocks; about a million records a second; memory: one bit an index.
//
// Records of fetches that were cut short by our side (cancelled, client_crashed) are taken out:
// their URLs get another turn. The unique index is dropped; the end of the run builds it anew.
//
// DataLoss: two records of one index, one beyond `total`, or one with a number that no agent could
// hand in (common/record_numbers.h); the error names its index and the column. Unavailable: SQLite
// cannot open, read or write it, a full disk for example.
absl::StatusOr<StoredRecords> TakeUpRecords(const std::string& path, uint64_t total,
                                            int64_t timeout_us, const Pauses& pauses);

}  // namespace fetchbench::coordinator
