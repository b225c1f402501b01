#include "common/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace fetchbench {

void OpenStandardStreams() {
  // open() takes the lowest number that is free, so the order is that of the numbers.
  constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", kModes[fd]) < 0) return;
  }
}

absl::Status WriteToReader(int fd, std::string_view text,
                           std::optional<std::chrono::milliseconds> patience) {
  const int wait_ms = patience ? static_cast<int>(patience->count()) : -1;
  while (!text.empty()) {
    pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
    const int ready = poll(&waiting, 1, wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return absl::DeadlineExceededError("nobody reads");
    // So much a pipe that poll calls writable takes without blocking.
    const ssize_t n = write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 && errno == EPIPE) return absl::CancelledError("nobody reads any more");
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot write");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status WriteText(int fd, std::string_view text,
                       std::optional<std::chrono::milliseconds> patience) {
  absl::Status written = WriteToReader(fd, text, patience);
  return absl::IsCancelled(written) ? absl::OkStatus() : written;
}

int PrintOutput(std::string_view program, std::string_view text, int code) {
  const absl::Status written = WriteText(STDOUT_FILENO, text);
  if (written.ok()) return code;
  WriteText(STDERR_FILENO,
            fmt::format("{}: standard output: {}\n", program, std::string(written.message())))
      .IgnoreError();
  return kCannotPrint;
}

}  // namespace fetchbench
