#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/fd.h"

namespace fetchbench {

// A file without a name: whatever happens, nothing is left of it. Calls may block on the disk. Not
// thread-safe, but for Reads among each other. See async_file.h for use on a loop.
class TemporaryFile {
 public:
  // `what` is in it, for error texts ("an image's archive").
  static absl::StatusOr<TemporaryFile> Make(const std::string& folder, std::string what);
  // Of a file that is open for writing already, and empty.
  static TemporaryFile Adopt(Fd fd, std::string what);

  absl::Status Append(std::string_view bytes);
  // At most `most` bytes from `at` on; empty at the end.
  absl::StatusOr<std::string> Read(uint64_t at, size_t most) const;

  uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  uint64_t size_ = 0;
  std::string what_;
};

}  // namespace fetchbench
