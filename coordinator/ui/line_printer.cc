#include "coordinator/ui/line_printer.h"

#include <fmt/format.h>

#include <cstddef>

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kShowCursor = "\x1b[?25h";
// A terminal that was made narrower after we asked for its size cuts a line instead of wrapping it.
constexpr std::string_view kNoWrap = "\x1b[?7l";
constexpr std::string_view kWrap = "\x1b[?7h";
constexpr std::string_view kEraseRestOfLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

}  // namespace

// Lines are overwritten and their rests erased, rather than all erased first, which would flicker.
std::string LinePrinter::Frame(bool clear_first) const {
  std::string bytes("\r");
  bytes += kNoWrap;
  if (clear_first) bytes += kEraseBelow;
  for (size_t i = 0; i < last_.size(); ++i) {
    if (i > 0) bytes += "\r\n";
    bytes += last_[i];
    bytes += kEraseRestOfLine;
  }
  bytes += kEraseBelow;
  if (last_.size() > 1) bytes += fmt::format("\x1b[{}A", last_.size() - 1);
  bytes += "\r";
  bytes += kWrap;
  return bytes;
}

void LinePrinter::Draw(const std::vector<std::string>& lines) {
  if (lines.empty() || !terminal_.Drain()) return;
  std::string bytes;
  if (!guard_) {
    guard_.emplace(terminal_.fd());
    bytes += kHideCursor;
  }
  const TextStyle style = terminal_.Style();
  const bool resized = style.width != last_style_.width || style.height != last_style_.height;
  last_ = lines;
  last_style_ = style;
  bytes += Frame(resized);
  terminal_.Write(bytes);
}

bool LinePrinter::PrintAbove(std::string_view text) {
  const bool keeps_up = terminal_.Drain();
  std::string bytes;
  if (!last_.empty()) bytes.append("\r").append(kEraseBelow);
  bytes += text;
  bytes += '\n';
  // Behind a stalled terminal many lines may wait: one block after the last of them is enough, and
  // the next frame brings it.
  if (!last_.empty() && keeps_up) bytes += Frame(/*clear_first=*/false);
  return terminal_.Write(bytes);
}

void LinePrinter::Close(bool keep) {
  if (!guard_) return;
  std::string bytes("\r");
  if (!keep) {
    bytes += kEraseBelow;
  } else {
    if (last_.size() > 1) bytes += fmt::format("\x1b[{}B", last_.size() - 1);
    bytes += "\r\n";
  }
  bytes += kShowCursor;
  terminal_.Write(bytes);
  last_.clear();
  guard_.reset();
}

}  // namespace fetchbench::coordinator
