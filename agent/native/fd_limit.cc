#include "agent/native/fd_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace fetchbench::native {
namespace {

constexpr uint64_t kProcess = 32;  // standard streams, signals, libraries
constexpr uint64_t kThread = 16;   // epoll, timer, wake-up, DNS sockets

}  // namespace

uint64_t DescriptorsNeeded(size_t concurrency, size_t threads) {
  return concurrency + concurrency / 4 + kThread * threads + kProcess;
}

absl::Status RaiseFdLimit(uint64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::InternalError(
        fmt::format("cannot read the open files limit: {}", std::strerror(errno)));
  }
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (needed <= limit.rlim_cur) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "this concurrency needs {} open files, and the limit (RLIMIT_NOFILE, ulimit -Hn) is {}: "
      "lower --concurrency, or raise the limit",
      needed, limit.rlim_cur));
}

}  // namespace fetchbench::native
