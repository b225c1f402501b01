#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
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

// What Finish() leaves of the live display.
enum class LastFrame {
  kKeep,   // the last figures stay on the screen: standard output goes somewhere else
  kErase,  // nothing: the summary follows on the same screen
};

// The live display on standard error. All calls may come from any thread; none waits for a terminal
// that is not reading (frames are dropped, log lines kept up to Terminal's bound, then counted and
// reported), but for the 500 ms of Finish().
class ProgressDisplay {
 public:
  static constexpr std::chrono::milliseconds kFrameInterval{100};
  static constexpr std::chrono::milliseconds kPlainInterval{5000};
  static constexpr std::chrono::milliseconds kFinishPatience{500};

  ProgressDisplay(Terminal& terminal, ProgressMode mode);  // `terminal` outlives it
  ~ProgressDisplay();                                      // as Finish(kKeep)
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Whether Update() at `now` would show anything, so that the caller need not fill a snapshot.
  bool Due(SteadyTime now) const;
  // Draws when due; otherwise only remembers the snapshot for Finish(). The first plain line comes
  // after kPlainInterval.
  void Update(const ProgressSnapshot& snapshot, SteadyTime now);
  // One line (or several, parted by '\n') above the display, in every mode; made harmless first.
  void Log(std::string_view text);
  // What Log() makes a line of its text with, where all lines must look alike: a log in JSON.
  void SetLineFormat(std::function<std::string(std::string_view)> format);
  // As Log(), of a line that looks as it should.
  void LogLine(std::string_view line);
  // Shows the last snapshot of Update() once more (plain: as a line), gives the terminal back and
  // ends the display. Log() still works afterwards, Update() does nothing.
  void Finish(LastFrame last_frame);

 private:
  bool DueLocked(SteadyTime now) const;
  void WriteLine(std::string_view line);

  mutable std::mutex mutex_;
  Terminal& terminal_;
  ProgressMode mode_;
  LinePrinter printer_;
  std::optional<SteadyTime> last_shown_;
  std::optional<ProgressSnapshot> last_;
  uint64_t lost_lines_ = 0;
  std::function<std::string(std::string_view)> line_format_;
};

}  // namespace fetchbench::coordinator
