#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/record.h"

namespace fetchbench::coordinator {

// The records of a small run: entry i is that of index i, empty when there is none. Reads a
// records.db (run_store.h), also one that is still being written; blocks. Holds all of them in
// memory: for lists of thousands, not of millions.
absl::StatusOr<std::vector<std::optional<Record>>> ReadRecords(const std::string& path,
                                                               size_t count);

}  // namespace fetchbench::coordinator
