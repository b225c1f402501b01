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
// follows '#' are skipped. A file that is not there denies nobody, nor does one of comments alone;
// one without a byte is no list. Read again when it has changed. Any thread.
class DenyList {
 public:
  // InvalidArgument: a line is no serial number, and which, or there is not a byte in it. Others:
  // it cannot be read.
  static absl::StatusOr<std::unique_ptr<DenyList>> Load(std::string path);

  // `serial` as NormalSerial gives it. When the file has become unreadable or wrong, what was
  // denied before stays denied; that is logged, and so is a new list that denies nobody any more.
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
