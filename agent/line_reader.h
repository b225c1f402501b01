#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fetchbench::agent {

// A target echoes its URL, and a URL may be 1 MB long, six times that when escaped.
inline constexpr size_t kMaxLineBytes = 8 << 20;

// Cuts a byte stream into lines and holds at most one line of `max_line` bytes. The rest of a
// longer line is dropped and the line counted. Pure.
class LineReader {
 public:
  explicit LineReader(size_t max_line = kMaxLineBytes) : max_line_(max_line) {}

  // Calls `on_line(std::string_view)` for each complete line, without its newline (and without a
  // carriage return before it).
  template <typename OnLine>
  void Feed(std::string_view bytes, OnLine&& on_line) {
    while (!bytes.empty()) {
      const size_t newline = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, newline);
      const bool complete = newline != std::string_view::npos;
      if (complete && half_.empty() && !dropping_ && piece.size() <= max_line_) {
        on_line(WithoutCr(piece));  // nothing to join: the usual case
      } else {
        Keep(piece);
        if (complete && !dropping_) on_line(WithoutCr(half_));
        if (complete) Reset();
      }
      if (!complete) return;
      bytes.remove_prefix(newline + 1);
    }
  }

  // What came after the last newline; a target that dies in mid-line leaves such a rest, and it
  // must not be taken for a record: its last number may be cut short.
  std::string_view half_line() const { return half_; }

  uint64_t oversize_lines() const { return oversize_; }

 private:
  static std::string_view WithoutCr(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void Keep(std::string_view piece);
  void Reset();

  const size_t max_line_;
  std::string half_;
  bool dropping_ = false;
  uint64_t oversize_ = 0;
};

}  // namespace fetchbench::agent
