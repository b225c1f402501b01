#include "coordinator/ui/progress_display.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

// Each line of a text for itself, so that its line ends stay and nothing else does.
std::string HarmlessLines(std::string_view text, bool ascii) {
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    out += Harmless(text.substr(0, end), ascii);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<ProgressMode> ParseProgressMode(std::string_view word, const Terminal& terminal) {
  if (word == "auto") {
    return terminal.can_move_cursor() ? ProgressMode::kTerminal : ProgressMode::kPlain;
  }
  if (word == "tty") return ProgressMode::kTerminal;
  if (word == "plain") return ProgressMode::kPlain;
  if (word == "none") return ProgressMode::kNone;
  return std::nullopt;
}

ProgressDisplay::ProgressDisplay(Terminal& terminal, ProgressMode mode)
    : terminal_(terminal), mode_(mode), printer_(terminal) {}

ProgressDisplay::~ProgressDisplay() { Finish(LastFrame::kKeep); }

bool ProgressDisplay::Due(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  return DueLocked(now);
}

bool ProgressDisplay::DueLocked(SteadyTime now) const {
  if (mode_ == ProgressMode::kNone) return false;
  if (!last_shown_) return true;
  return now - *last_shown_ >= (mode_ == ProgressMode::kTerminal ? kFrameInterval : kPlainInterval);
}

void ProgressDisplay::Update(const ProgressSnapshot& snapshot, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (mode_ == ProgressMode::kNone) return;
  last_ = snapshot;
  if (!DueLocked(now)) return;
  const bool first = !last_shown_;
  last_shown_ = now;
  if (mode_ == ProgressMode::kTerminal) {
    printer_.Draw(RenderProgress(snapshot, terminal_.Style()));
  } else if (!first) {
    WriteLine(RenderProgressLine(snapshot));
  }
}

void ProgressDisplay::SetLineFormat(std::function<std::string(std::string_view)> format) {
  const std::lock_guard lock(mutex_);
  line_format_ = std::move(format);
}

void ProgressDisplay::Log(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string line = line_format_ ? line_format_(text) : std::string(text);
  WriteLine(HarmlessLines(line, !terminal_.Style().utf8));
}

void ProgressDisplay::LogLine(std::string_view line) {
  const std::lock_guard lock(mutex_);
  WriteLine(HarmlessLines(line, !terminal_.Style().utf8));
}

void ProgressDisplay::WriteLine(std::string_view line) {
  if (lost_lines_ > 0 && terminal_.Drain()) {
    const std::string lost =
        fmt::format("({} lines were lost here: the terminal was not reading)", lost_lines_);
    if (printer_.PrintAbove(lost)) lost_lines_ = 0;
  }
  if (!printer_.PrintAbove(line)) ++lost_lines_;
}

void ProgressDisplay::Finish(LastFrame last_frame) {
  const std::lock_guard lock(mutex_);
  if (mode_ == ProgressMode::kTerminal && last_) {
    if (last_frame == LastFrame::kKeep) {
      printer_.Draw(RenderProgress(*last_, terminal_.Style()));
    }
    printer_.Close(last_frame == LastFrame::kKeep);
  } else if (mode_ == ProgressMode::kPlain && last_) {
    WriteLine(RenderProgressLine(*last_));
  }
  mode_ = ProgressMode::kNone;
  last_.reset();
  terminal_.Flush(kFinishPatience);
}

}  // namespace fetchbench::coordinator
