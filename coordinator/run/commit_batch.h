#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/record.h"

namespace fetchbench::coordinator {

// Records on their way into the run store, with their URLs. Came from one agent as one batch.
struct CommitBatch {
  static constexpr uint32_t kFromCoordinator = ~uint32_t{0};  // lines of the list that are no URL

  uint32_t agent = kFromCoordinator;  // position in the run's list of agents
  uint32_t epoch = 0;                 // which of the agent's lives numbered it
  uint64_t seq = 0;                   // the agent's number for it
  std::vector<Record> records;
  std::string urls;                // of all records, one after the other
  std::vector<uint32_t> url_ends;  // URL of record i ends here

  void Add(Record record, std::string_view url) {
    records.push_back(std::move(record));
    urls.append(url);
    url_ends.push_back(static_cast<uint32_t>(urls.size()));
  }
  std::string_view Url(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : url_ends[i - 1];
    return std::string_view(urls).substr(begin, url_ends[i] - begin);
  }
};

}  // namespace fetchbench::coordinator
