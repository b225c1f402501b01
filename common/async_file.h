#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/blocking.h"
#include "common/net.h"
#include "common/temporary_file.h"

namespace fetchbench {

// A temporary file for coroutines: what may wait for the disk does so on a thread of its own, while
// the loop goes on. One Append at a time, and no Read beside it; Reads may overlap. Stays where it
// is, and alive, while a call is under way.
class AsyncFile {
 public:
  AsyncFile() = default;
  explicit AsyncFile(TemporaryFile file) : file_(std::move(file)) {}

  // See TemporaryFile.
  static Task<absl::StatusOr<AsyncFile>> Make(std::string folder, std::string what) {
    const net::any_io_executor loop = co_await net::this_coro::executor;
    const auto make = [&folder, &what] { return TemporaryFile::Make(folder, what); };
    absl::StatusOr<TemporaryFile> file = co_await RunBlocking(loop, make);
    if (!file.ok()) co_return file.status();
    co_return AsyncFile(*std::move(file));
  }

  // `bytes` are the caller's until it returns.
  Task<absl::Status> Append(const std::string& bytes) {
    const net::any_io_executor loop = co_await net::this_coro::executor;
    const auto append = [this, &bytes] { return file_.Append(bytes); };
    co_return co_await RunBlocking(loop, append);
  }

  // At most `most` bytes from `at` on; empty at the end.
  Task<absl::StatusOr<std::string>> Read(uint64_t at, size_t most) const {
    const net::any_io_executor loop = co_await net::this_coro::executor;
    const auto read = [this, at, most] { return file_.Read(at, most); };
    co_return co_await RunBlocking(loop, read);
  }

  uint64_t size() const { return file_.size(); }
  int fd() const { return file_.fd(); }

 private:
  TemporaryFile file_;
};

}  // namespace fetchbench
