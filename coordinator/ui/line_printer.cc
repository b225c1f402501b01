#include "coordinator/ui/line_printer.h"

#include <fmt/format.h>

#include <cstddef>

#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kShowCursor = "\x1b[?25h";
// A terminal that was made narrower after we asked for its size cuts a line instead of wrapping it.
constexpr std::string_view kNoWrap = "\x1b[?7l";
constexpr std::string_view kWrap = "\x1b[?7h";
constexpr std::string_view kEraseRestOfLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

// The lines of `text`, each erasing what the block had behind it. A line that fills its last row
// has nothing behind it, and erasing there would take its last character.
std::string OverBlock(std::string_view text, int width) {
  std::string bytes("\r");
  while (true) {
    const std::string_view line = text.substr(0, text.find('\n'));
    bytes += line;
    const int columns = DisplayWidth(line);
    if (columns == 0 || columns % width != 0) bytes += kEraseRestOfLine;
    bytes += '\n';
    if (line.size() == text.size()) return bytes;
    text.remove_prefix(line.size() + 1);
  }
}

}  // namespace

// Lines are overwritten and their rests erased, and at last what is below. Erasing all of it first
// would flicker, and tmux saves a screen that is erased from its first row on to the scroll-back.
std::string LinePrinter::Frame() const {
  std::string bytes("\r");
  bytes += kHideCursor;  // each time: a shell may have shown it while we were suspended
  bytes += kNoWrap;
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
  if (lines.empty() || terminal_.InBackground() || !terminal_.Drain()) return;
  if (!guard_) guard_.emplace(terminal_.fd());
  last_ = lines;
  terminal_.Write(Frame());
}

bool LinePrinter::PrintAbove(std::string_view text) {
  const bool keeps_up = terminal_.Drain();
  const bool block = !last_.empty();
  std::string bytes;
  if (block) {
    bytes = OverBlock(text, terminal_.Style().width);
  } else {
    bytes.append(text).append("\n");
  }
  // Behind a stalled terminal many lines may wait: one block after the last of them is enough, and
  // the next frame brings it.
  if (block && keeps_up) bytes += Frame();
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
