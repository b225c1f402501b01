#include "agent/native/url_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "agent/native/line_splitter.h"

namespace fetchbench::native {
namespace {

constexpr size_t kChunk = 64 * 1024;

}  // namespace

absl::Status ReadUrls(int fd, const StopEvent& stop, UrlQueue& queue) {
  LineSplitter splitter;
  std::vector<char> chunk(kChunk);
  const auto push = [&queue](std::string line) { return queue.Push(std::move(line)); };
  while (true) {
    std::array<pollfd, 2> polled = {pollfd{fd, POLLIN, 0}, pollfd{stop.fd(), POLLIN, 0}};
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return absl::UnavailableError(fmt::format("standard input: {}", std::strerror(errno)));
    }
    if (polled[1].revents != 0) return absl::OkStatus();
    if (polled[0].revents == 0) continue;
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) {
      return absl::UnavailableError(fmt::format("standard input: {}", std::strerror(errno)));
    }
    if (n == 0) {
      splitter.Finish(push);
      return absl::OkStatus();
    }
    if (!splitter.Feed({chunk.data(), static_cast<size_t>(n)}, push)) return absl::OkStatus();
  }
}

}  // namespace fetchbench::native
