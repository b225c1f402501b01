#include "coordinator/ui/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

namespace fetchbench::coordinator {
namespace {

// What a polled pipe takes without blocking (PIPE_BUF).
constexpr size_t kPolledWrite = 4096;
constexpr int kMinWidth = 20;
constexpr int kMaxWidth = 500;
constexpr int kDefaultHeight = 24;

bool IsWritable(int fd, int timeout_ms) {
  pollfd p = {.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&p, 1, timeout_ms) > 0 && (p.revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
}

int NumberFrom(const Environment& env, std::string_view name, int otherwise) {
  const std::string text = env(name).value_or("");
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : otherwise;
}

}  // namespace

Terminal::Terminal(int fd, Environment env)
    : fd_(fd), env_(std::move(env)), is_terminal_(isatty(fd) == 1) {
  const std::string term = env_("TERM").value_or("");
  can_move_cursor_ = is_terminal_ && !term.empty() && term != "dumb";
  // O_NONBLOCK on `fd` itself would also hold for the shell and our children, which share it.
  if (is_terminal_) {
    own_fd_ = open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                   O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
}

Terminal::~Terminal() {
  if (own_fd_ >= 0) close(own_fd_);
}

bool Terminal::InBackground() const {
  if (!is_terminal_) return false;
  const pid_t foreground = tcgetpgrp(fd_);  // fails for a terminal that is not our controlling one
  return foreground > 0 && foreground != getpgrp();
}

TextStyle Terminal::Style() const {
  TextStyle style;
  winsize size = {};
  const bool told = is_terminal_ && ioctl(fd_, TIOCGWINSZ, &size) == 0;
  const int width = is_terminal_ ? 80 : kFileWidth;
  style.width = told && size.ws_col > 0 ? size.ws_col : NumberFrom(env_, "COLUMNS", width);
  style.height = told && size.ws_row > 0 ? size.ws_row : NumberFrom(env_, "LINES", kDefaultHeight);
  style.width = std::clamp(style.width, kMinWidth, kMaxWidth);
  style.colour = WantsColour(is_terminal_, env_);
  style.utf8 = IsUtf8Locale(env_);
  return style;
}

size_t Terminal::WriteSome(std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    if (own_fd_ < 0 && !IsWritable(fd_, 0)) break;
    const std::string_view rest = bytes.substr(written);
    const size_t n = own_fd_ >= 0 ? rest.size() : std::min(rest.size(), kPolledWrite);
    const ssize_t result = write(fd(), rest.data(), n);
    if (result >= 0) {
      written += static_cast<size_t>(result);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return bytes.size();  // closed or broken: nobody will read this any more
    }
  }
  return written;
}

bool Terminal::Write(std::string_view bytes) {
  const bool drained = Drain();
  if (pending_.size() + bytes.size() > kMaxPendingBytes) return false;
  const size_t written = drained ? WriteSome(bytes) : 0;
  pending_ += bytes.substr(written);
  return true;
}

bool Terminal::Drain() {
  if (!pending_.empty()) pending_.erase(0, WriteSome(pending_));
  return pending_.empty();
}

bool Terminal::Flush(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!Drain()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    IsWritable(fd(), static_cast<int>(left.count()));
  }
  return true;
}

}  // namespace fetchbench::coordinator
