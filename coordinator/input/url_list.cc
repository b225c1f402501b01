#include "coordinator/input/url_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace fetchbench::coordinator {
namespace {

constexpr int kPollMs = 100;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(int fd, const std::atomic<bool>& stop)
    : fd_(fd), stop_(stop), buffer_(kBufferBytes, '\0') {}

absl::Status LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  while (true) {
    if (stop_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped by the user");
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, kPollMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) {
      return absl::UnavailableError(
          fmt::format("reading failed: {}", std::generic_category().message(errno)));
    }
    at_end_ = n == 0;
    end_ += static_cast<size_t>(n);
    return absl::OkStatus();
  }
}

absl::Status LineReader::SkipRestOfLine() {
  while (true) {
    const void* newline = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_);
    if (newline != nullptr) {
      begin_ = static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data()) + 1;
      scanned_ = begin_;
      return absl::OkStatus();
    }
    begin_ = scanned_ = end_;
    if (at_end_) return absl::OkStatus();
    if (absl::Status s = Fill(); !s.ok()) return s;
  }
}

absl::StatusOr<std::optional<std::string_view>> LineReader::Next() {
  // A line that was returned cut short still has its rest before us.
  if (scanned_ > begin_) {
    if (absl::Status s = SkipRestOfLine(); !s.ok()) return s;
  }
  size_t length = 0;
  while (true) {
    const char* from = buffer_.data() + scanned_;
    const void* newline = std::memchr(from, '\n', end_ - scanned_);
    if (newline != nullptr) {
      length = static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data()) - begin_;
      break;
    }
    scanned_ = end_;
    length = end_ - begin_;
    if (length > kMaxLine) break;
    if (at_end_) {
      if (length == 0) return std::nullopt;
      break;
    }
    if (absl::Status s = Fill(); !s.ok()) return s;
  }
  std::string_view line(buffer_.data() + begin_, std::min(length, kMaxLine));
  const bool whole = begin_ + length < end_ && buffer_[begin_ + length] == '\n';
  if (whole || at_end_) {
    begin_ = std::min(begin_ + length + 1, end_);
    scanned_ = begin_;
  }
  ++line_number_;
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  return line;
}

absl::StatusOr<int> OpenUrlList(const std::string& path) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (fd < 0 || fstat(fd, &facts) != 0) {
    const std::string why = std::generic_category().message(errno);
    if (!standard_input) {
      return absl::NotFoundError(fmt::format("cannot read the URL list {}: {}", path, why));
    }
    return absl::NotFoundError(fmt::format(
        "cannot read URLs from standard input ({}): pipe a list in, or name a file with --urls",
        why));
  }
  if (S_ISDIR(facts.st_mode)) {
    if (!standard_input) close(fd);
    return absl::InvalidArgumentError(
        fmt::format("the URL list {} is a directory: name a file, one URL a line", path));
  }
  return fd;
}

absl::StatusOr<ListCounts> ReadUrlList(LineReader& reader, uint64_t limit, Hosts hosts,
                                       const OnUrl& on_url) {
  ListCounts counts;
  ListLine line;
  while (counts.urls < limit) {
    auto text = reader.Next();
    if (!text.ok()) return text.status();
    if (!text->has_value()) break;
    ++counts.lines;
    ParseListLine(**text, line);
    if (line.kind == LineKind::kBlank) continue;
    if (line.kind == LineKind::kUrl && line.address && hosts == Hosts::kNames) {
      Refuse(line, "an address, and the simulated web has names only");
    }
    if (line.kind == LineKind::kInvalid) ++counts.invalid;
    if (absl::Status s = on_url(counts.urls, line); !s.ok()) return s;
    ++counts.urls;
  }
  return counts;
}

}  // namespace fetchbench::coordinator
