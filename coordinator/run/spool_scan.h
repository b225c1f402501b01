#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/input/url_spool.h"
#include "coordinator/run/index_set.h"

namespace fetchbench::coordinator {

// What is still to be done of a spool.
struct SpoolScan {
  absl::Status status;
  uint64_t urls = 0;                // in the spool
  uint64_t open = 0;                // of these, without a record
  std::vector<uint64_t> remaining;  // the same by partition
  std::vector<std::string> hosts;   // of https URLs without a record, each once
  bool all_hosts = true;            // false: there are more than `max_hosts`
};

// Reads the whole spool; blocks. DataLoss: it is damaged, or holds an index twice.
SpoolScan ScanSpool(const UrlSpool& spool, const IndexSet& recorded, size_t max_hosts);

}  // namespace fetchbench::coordinator
