#include "coordinator/ui/progress_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "coordinator/ui/agent_lines.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr int kGap = 3;           // between figures of one line
constexpr int kShortestBar = 10;  // a shorter bar shows nothing
constexpr int kLongestBar = 100;
constexpr size_t kMaxNotices = 3;
constexpr size_t kMaxOutcomeLines = 2;

using Lines = std::vector<std::string>;

// As many figures to a line as fit; a figure is never broken, only cut when a line is too short for
// it.
Lines Flow(const std::vector<std::string>& figures, int columns, bool utf8) {
  Lines lines;
  for (const std::string& figure : figures) {
    const int width = DisplayWidth(figure);
    if (!lines.empty() && DisplayWidth(lines.back()) + kGap + width <= columns) {
      lines.back() += std::string(kGap, ' ') + figure;
    } else {
      lines.push_back(CutTo(figure, columns, utf8));
    }
  }
  return lines;
}

double Fraction(const ProgressSnapshot& s) {
  if (!s.total || *s.total == 0) return s.total ? 1.0 : 0.0;
  return std::min(1.0, static_cast<double>(s.done) / static_cast<double>(*s.total));
}

std::string Bar(double fraction, int cells, const TextStyle& style) {
  const Paint paint(style.colour);
  if (!style.utf8) {
    const auto full = static_cast<size_t>(fraction * (cells - 2));
    return "[" + paint.Green(std::string(full, '#')) +
           std::string(static_cast<size_t>(cells - 2) - full, '.') + "]";
  }
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * cells * 8);
  std::string done;
  for (int i = 0; i < eighths / 8; ++i) done += "█";
  done += kEighths[static_cast<size_t>(eighths % 8)];
  std::string rest;
  for (int i = (eighths + 7) / 8; i < cells; ++i) rest += "░";
  return paint.Green(done) + paint.Dim(rest);
}

// Title on the left; phase and elapsed time on the right, which win where there is no room for
// both.
std::string TitleLine(const ProgressSnapshot& s, int columns, const TextStyle& style) {
  const Paint paint(style.colour);
  const std::string phase = Harmless(s.phase, !style.utf8);
  std::string right = CutTo(fmt::format("{}{}{}", phase, phase.empty() ? "" : "  ",
                                        HumanSeconds(std::floor(s.elapsed_s))),
                            columns, style.utf8);
  const int room = columns - DisplayWidth(right) - 2;
  if (room < 6) return right;
  const std::string left = CutTo(Harmless(s.title, !style.utf8), room, style.utf8);
  return paint.Bold(left) + std::string(static_cast<size_t>(room + 2 - DisplayWidth(left)), ' ') +
         right;
}

// Done, total, share and time left, with a bar in front as long as the line allows.
Lines DoneLines(const ProgressSnapshot& s, int columns, const TextStyle& style) {
  std::vector<std::string> figures;
  if (s.total) {
    figures.push_back(fmt::format("{}/{}", Grouped(s.done), Grouped(*s.total)));
    figures.push_back(HumanPercent(Fraction(s)));
  } else {
    figures.push_back(Grouped(s.done) + " done");
  }
  if (s.eta_s) figures.push_back("ETA " + HumanSeconds(*s.eta_s));
  const std::string text = Flow(figures, 1'000, style.utf8).front();
  // The text's column does not move while its figures grow.
  const int text_columns = std::max(DisplayWidth(text), 36);
  const int bar = std::min(kLongestBar, columns - kGap - text_columns);
  if (bar >= kShortestBar && s.total) return {Bar(Fraction(s), bar, style) + "   " + text};
  Lines lines;
  if (s.total && columns >= kShortestBar) {
    lines.push_back(Bar(Fraction(s), std::min(kLongestBar, columns), style));
  }
  for (std::string& line : Flow(figures, columns, style.utf8)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> RateFigures(const ProgressSnapshot& s) {
  return {fmt::format("{}/s now", HumanNumber(s.rate_now)),
          fmt::format("{}/s overall", HumanNumber(s.rate_overall)),
          fmt::format("in flight {}/{}", Grouped(s.in_flight), Grouped(s.concurrency)),
          fmt::format("{}/s", HumanBytes(s.bytes_per_s)),
          fmt::format("{} in all", HumanBytes(static_cast<double>(s.bytes)))};
}

std::vector<std::string> ClassFigures(const StatusClasses& c, const Paint& paint) {
  std::vector<std::string> figures = {paint.Green("2xx " + Grouped(c.ok)),
                                      paint.Cyan("3xx " + Grouped(c.redirect)),
                                      paint.Yellow("4xx " + Grouped(c.client_error)),
                                      paint.Magenta("5xx " + Grouped(c.server_error))};
  if (c.other_status > 0) figures.push_back(paint.Magenta("other " + Grouped(c.other_status)));
  figures.push_back(paint.Red("failures " + Grouped(c.exceptions)));
  return figures;
}

std::vector<std::string> QuantileFigures(const ProgressSnapshot& s) {
  const auto figure = [](const char* name, int64_t us) {
    return fmt::format("{} {}", name, HumanDuration(static_cast<double>(us)));
  };
  return {figure("p50", s.p50_us), figure("p90", s.p90_us), figure("p99", s.p99_us)};
}

// Failures by outcome, the most frequent first; what does not fit is named by its number.
Lines OutcomeLines(const OutcomeCounts& outcomes, int columns, const TextStyle& style) {
  std::vector<std::pair<uint64_t, Outcome>> failures;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (outcome != Outcome::kStatus && outcomes[i] > 0) failures.emplace_back(outcomes[i], outcome);
  }
  std::stable_sort(failures.begin(), failures.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> figures;
  figures.reserve(failures.size());
  for (const auto& [count, outcome] : failures) {
    figures.push_back(fmt::format("{} {}", OutcomeName(outcome), Grouped(count)));
  }
  size_t kept = figures.size();
  Lines lines = Flow(figures, columns, style.utf8);
  while (lines.size() > kMaxOutcomeLines && kept > 1) {
    --kept;
    std::vector<std::string> shorter(figures.begin(),
                                     figures.begin() + static_cast<std::ptrdiff_t>(kept));
    shorter.push_back(fmt::format("+ {} more", figures.size() - kept));
    lines = Flow(shorter, columns, style.utf8);
  }
  lines.resize(std::min(lines.size(), kMaxOutcomeLines));
  for (std::string& line : lines) line = Paint(style.colour).Red(line);
  return lines;
}

// One part of the display; where there are too few rows, the part with the highest number goes
// first.
struct Part {
  int priority;
  Lines lines;
};

// Leaves out whole parts, then whole lines, until at most `rows` are left.
Lines Fit(std::vector<Part> parts, size_t rows) {
  size_t total = 0;
  for (const Part& part : parts) total += part.lines.size();
  while (total > rows && parts.size() > 1) {
    const auto least =
        std::max_element(parts.begin(), parts.end(),
                         [](const Part& a, const Part& b) { return a.priority < b.priority; });
    if (total - least->lines.size() < rows && least->lines.size() > 1) {
      least->lines.resize(least->lines.size() - (total - rows));
      total = rows;
      break;
    }
    total -= least->lines.size();
    parts.erase(least);
  }
  Lines all;
  for (Part& part : parts) {
    for (std::string& line : part.lines) {
      if (all.size() < rows) all.push_back(std::move(line));
    }
  }
  return all;
}

Lines NoticeLines(const ProgressSnapshot& s, int columns, const TextStyle& style) {
  Lines lines;
  for (const std::string& notice : s.notices) {
    if (lines.size() == kMaxNotices) break;
    lines.push_back(
        Paint(style.colour).Yellow(CutTo(Harmless(notice, !style.utf8), columns, style.utf8)));
  }
  return lines;
}

}  // namespace

const char* AgentStateName(AgentState state) {
  switch (state) {
    case AgentState::kLost:
      return "lost";
    case AgentState::kReconnecting:
      return "reconnecting";
    case AgentState::kFailed:
      return "failed";
    case AgentState::kConnecting:
      return "connecting";
    case AgentState::kPreparing:
      return "preparing";
    case AgentState::kRunning:
      return "running";
    case AgentState::kDone:
      return "done";
  }
  return "unknown";
}

std::optional<double> EstimateEta(std::optional<uint64_t> total, uint64_t done, double rate_now,
                                  double rate_overall) {
  if (!total || done >= *total || !(rate_now > 0)) return std::nullopt;
  // The mean of both: the present rate alone jumps about, the overall one lags behind.
  const double rate = rate_overall > 0 ? (rate_now + rate_overall) / 2 : rate_now;
  return static_cast<double>(*total - done) / rate;
}

std::vector<std::string> RenderProgress(const ProgressSnapshot& s, const TextStyle& style) {
  // The last column stays free: a character there makes some terminals wrap.
  const int columns = std::max(1, style.width - 1);
  const auto rows = static_cast<size_t>(std::max(1, style.height - 1));
  const Paint paint(style.colour);
  std::vector<Part> parts;
  parts.push_back({4, {TitleLine(s, columns, style)}});
  parts.push_back({0, DoneLines(s, columns, style)});
  parts.push_back({2, Flow(RateFigures(s), columns, style.utf8)});
  parts.push_back({5, Flow(QuantileFigures(s), columns, style.utf8)});
  parts.push_back({1, Flow(ClassFigures(s.classes, paint), columns, style.utf8)});
  parts.push_back({6, OutcomeLines(s.outcomes, columns, style)});
  size_t used = 0;
  const Lines notices = NoticeLines(s, columns, style);
  for (const Part& part : parts) used += part.lines.size();
  used += notices.size();
  // Agents take the rows that are left, and one in any case.
  const int left = std::max(1, static_cast<int>(rows) - static_cast<int>(used));
  parts.push_back({3, RenderAgents(s.agents, left, columns, style)});
  parts.push_back({2, notices});
  return Fit(std::move(parts), rows);
}

std::string RenderProgressLine(const ProgressSnapshot& s) {
  const bool running = s.phase.empty() || s.phase == "running";
  // No clock runs yet, and there are no figures: for minutes, while an image is built.
  if (!running && s.done == 0 && s.in_flight == 0) return Harmless(s.phase, true);
  std::string line = fmt::format("{}: ", HumanSeconds(std::floor(s.elapsed_s)));
  if (!running) line += Harmless(s.phase, true) + ", ";
  if (s.total) {
    line +=
        fmt::format("{}/{} ({})", Grouped(s.done), Grouped(*s.total), HumanPercent(Fraction(s)));
  } else {
    line += Grouped(s.done) + " done";
  }
  line +=
      fmt::format(", {}/s now, {}/s overall", HumanNumber(s.rate_now), HumanNumber(s.rate_overall));
  if (s.eta_s) line += ", ETA " + HumanSeconds(*s.eta_s);
  line += fmt::format(", in flight {}", Grouped(s.in_flight));
  for (const std::string& figure : ClassFigures(s.classes, Paint(false))) line += ", " + figure;
  for (const std::string& figure : QuantileFigures(s)) line += ", " + figure;
  line += fmt::format(", {}/s", HumanBytes(s.bytes_per_s));
  if (s.agents.size() > 1) line += ", agents: " + CountStates(s.agents);
  return line;
}

}  // namespace fetchbench::coordinator
