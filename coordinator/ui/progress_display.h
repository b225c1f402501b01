#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "common/clock.h"
#include "coordinator/ui/line_printer.h"
#include "coordinator/ui/progress_model.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

enum class ProgressMode { kTerminal, kPlain, kNone };

// `--progress auto|tty|plain|none`: auto is the live display on a terminal that can move its
// cursor, else plain lines. Empty for another word.
std::optional<ProgressMode> ParseProgressMode(std::string_view word, const Terminal& terminal);

// The live display on standard error. Update() and Log() may be called from any thread; neither
// waits for a terminal that is not reading (frames are dropped, log lines kept up to Terminal's
// bound, then counted and reported).
class ProgressDisplay {
 public:
  static constexpr std::chrono::milliseconds kFrameInterval{100};
  static constexpr std::chrono::milliseconds kPlainInterval{5000};

  ProgressDisplay(Terminal& terminal, ProgressMode mode);  // `terminal` outlives it
  ~ProgressDisplay();                                      // as Finish()

  // Whether Update() at `now` would show anything, so that the caller need not fill a snapshot.
  bool Due(SteadyTime now) const;
  // Draws when due; otherwise nothing.
  void Update(const ProgressSnapshot& snapshot, SteadyTime now);
  // One line (or several) above the display, in every mode, made harmless first; without newline.
  void Log(std::string_view text);
  // Shows the last snapshot once more in full, gives the terminal back and ends the display. Waits
  // 500 ms at most for a terminal that is not reading. Log() still works afterwards.
  void Finish();

 private:
  void Draw(const ProgressSnapshot& snapshot);
  void WriteLine(std::string_view line);

  mutable std::mutex mutex_;
  Terminal& terminal_;
  ProgressMode mode_;
  std::optional<LinePrinter> printer_;  // in kTerminal only
  std::optional<SteadyTime> last_shown_;
  std::optional<ProgressSnapshot> last_;
  uint64_t lost_lines_ = 0;
};

}  // namespace fetchbench::coordinator
