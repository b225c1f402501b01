#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

// Redraws a block of lines in place at the foot of a terminal. Between frames the hidden cursor
// rests at the block's first column and row: a terminal that re-wraps its lines on a resize takes
// the cursor along, so that the next frame still starts where the last one did. Not thread-safe.
class LinePrinter {
 public:
  explicit LinePrinter(Terminal& terminal);  // `terminal` outlives it
  ~LinePrinter();                            // leaves the last frame and shows the cursor
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  // Dropped silently when the terminal is not keeping up.
  void Draw(const std::vector<std::string>& lines);
  // Puts `line` (already harmless) above the block, which is drawn again. False: it was lost.
  bool PrintAbove(std::string_view line);
  // Ends the block: the cursor is shown, below the last frame (`keep`), or where it was, erased.
  void Close(bool keep);

 private:
  std::string FrameBytes(const std::vector<std::string>& lines, bool clear_first) const;
  void HideCursor(std::string& bytes);

  Terminal& terminal_;
  std::vector<std::string> last_;
  int last_width_ = 0;
  int last_height_ = 0;
  bool open_ = false;
};

}  // namespace fetchbench::coordinator
