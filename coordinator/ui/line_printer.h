#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/ui/cursor_guard.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

// Redraws a block of lines in place at the foot of a terminal. Between frames the hidden cursor
// rests at the block's first column and row: a terminal that re-wraps its lines on a resize takes
// the cursor along, so that the next frame still starts where the last one did. Not thread-safe.
class LinePrinter {
 public:
  explicit LinePrinter(Terminal& terminal) : terminal_(terminal) {}  // `terminal` outlives it
  ~LinePrinter() { Close(/*keep=*/true); }
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  // `lines` are narrower than the terminal and fewer than its rows. Dropped silently when the
  // terminal is not keeping up, or in the hands of another job.
  void Draw(const std::vector<std::string>& lines);
  // Puts `text` (harmless; several lines are parted by '\n') above the block, which is drawn again.
  // False: it was lost, because the terminal is not keeping up.
  bool PrintAbove(std::string_view text);
  // Ends the block: with `keep` the last frame stays and the cursor goes below it, else it is
  // erased. The cursor is shown. Draw() begins a new block.
  void Close(bool keep);

 private:
  std::string Frame() const;

  Terminal& terminal_;
  std::vector<std::string> last_;
  std::optional<CursorGuard> guard_;  // while the cursor is hidden
};

}  // namespace fetchbench::coordinator
