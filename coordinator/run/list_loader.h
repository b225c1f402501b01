#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/input/url_list.h"
#include "coordinator/input/url_spool.h"
#include "coordinator/run/commit_batch.h"

namespace fetchbench::coordinator {

struct LoadRequest {
  int fd = -1;
  std::string name;  // of the list, for messages: "urls.txt", "standard input"
  uint64_t limit = 0;
  Hosts hosts = Hosts::kAll;
  size_t max_hosts = 0;  // so many different https hosts are collected at most
  // Records of lines that are no URL; may block until there is room for more.
  std::function<void(CommitBatch)> on_invalid;
  // For a person: the first few lines that are no URL, each once.
  std::function<void(const std::string&)> on_complaint;
  std::function<int64_t()> wall_us;
};

struct LoadedList {
  ListCounts counts;
  std::vector<std::string> hosts;  // that certificates are needed for, at most max_hosts
  bool all_hosts = true;           // false: there were more
};

// So many lines that are no URL are named on standard error; all are in the run store.
inline constexpr uint64_t kMaxComplaints = 10;

// Reads the whole list into `spool`. Blocking; runs on a thread of its own. Memory does not grow
// with the list. Cancelled when `stop` becomes true; `counts` says how far it came.
absl::Status LoadList(const LoadRequest& request, const std::atomic<bool>& stop, UrlSpool& spool,
                      LoadedList& loaded);

}  // namespace fetchbench::coordinator
