#pragma once

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench {

// Serial numbers of certificates that are no longer welcome: hex, one a line; blank lines and what
// follows '#' are skipped. A file that is not there denies nobody. Read again when it has changed.
// Any thread.
class DenyList {
 public:
  // InvalidArgument: a line is no serial number, and which. Others: it cannot be read.
  static absl::StatusOr<std::unique_ptr<DenyList>> Load(std::string path);

  // `serial` as NormalSerial gives it. When the file has become unreadable or wrong, what was
  // denied before stays denied, and that is logged.
  bool Contains(const std::string& serial);

 private:
  explicit DenyList(std::string path) : path_(std::move(path)) {}
  absl::Status Refresh();

  const std::string path_;
  std::mutex mutex_;
  absl::flat_hash_set<std::string> serials_;
  struct stat seen_ {};  // of the file that was read last; all zeros: there was none
  absl::Status told_;    // what went wrong last time
};

}  // namespace fetchbench
