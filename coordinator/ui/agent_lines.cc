#include "coordinator/ui/agent_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr int kGap = 2;
constexpr int kLongestName = 32;
constexpr int kShortestNote = 12;  // a narrower rest of the line says nothing
constexpr int kHeaderFromColumns = 50;

bool IsTroubled(const AgentProgress& a) {
  return a.state == AgentState::kLost || a.state == AgentState::kReconnecting ||
         a.state == AgentState::kFailed;
}

std::string PaintState(AgentState state, std::string_view text, const Paint& paint) {
  switch (state) {
    case AgentState::kLost:
    case AgentState::kFailed:
      return paint.Red(text);
    case AgentState::kReconnecting:
      return paint.Yellow(text);
    case AgentState::kRunning:
      return paint.Green(text);
    default:
      return paint.Dim(text);
  }
}

struct Column {
  const char* header;
  int width;     // at least, so that columns stay where they are from frame to frame
  int priority;  // the highest number is left out first
  bool left;
  std::string (*text)(const AgentProgress&, const TextStyle&);
};

constexpr std::array<Column, 7> kColumns = {{
    {"agent", 5, 0, true,
     [](const AgentProgress& a, const TextStyle& s) {
       return CutTo(Harmless(a.name, !s.utf8), kLongestName, s.utf8);
     }},
    {"state", 12, 1, true,
     [](const AgentProgress& a, const TextStyle&) -> std::string {
       return AgentStateName(a.state);
     }},
    {"in flight", 9, 3, false,
     [](const AgentProgress& a, const TextStyle&) {
       return fmt::format("{}/{}", a.in_flight, a.concurrency);
     }},
    {"rate/s", 7, 2, false,
     [](const AgentProgress& a, const TextStyle&) { return HumanNumber(a.rate); }},
    {"CPU", 6, 4, false,
     [](const AgentProgress& a, const TextStyle&) -> std::string {
       return a.cpu_fraction ? fmt::format("{:.0f} %", *a.cpu_fraction * 100) : "-";
     }},
    {"memory", 7, 5, false,
     [](const AgentProgress& a, const TextStyle&) -> std::string {
       return a.rss_bytes ? HumanBytes(static_cast<double>(*a.rss_bytes)) : "-";
     }},
    {"done", 10, 6, false,
     [](const AgentProgress& a, const TextStyle&) { return Grouped(a.done); }},
}};

// Lays out a header and rows of agents over the columns that fit.
class AgentTable {
 public:
  AgentTable(const std::vector<const AgentProgress*>& shown, int columns, const TextStyle& style)
      : shown_(shown), columns_(columns), style_(style), paint_(style.colour) {
    for (size_t i = 0; i < kColumns.size(); ++i) {
      widths_[i] = kColumns[i].width;
      if (columns_ >= kHeaderFromColumns) {
        widths_[i] = std::max(widths_[i], DisplayWidth(kColumns[i].header));
      }
      for (const AgentProgress* a : shown_) {
        widths_[i] = std::max(widths_[i], DisplayWidth(kColumns[i].text(*a, style_)));
      }
    }
    for (int out = static_cast<int>(kColumns.size()) - 1; out > 0 && Width() > columns_; --out) {
      for (size_t i = 0; i < kColumns.size(); ++i) {
        if (kColumns[i].priority == out) widths_[i] = 0;
      }
    }
  }

  std::string Header() const {
    std::string line;
    for (size_t i = 0; i < kColumns.size(); ++i) AppendCell(line, i, kColumns[i].header);
    return CutTo(paint_.Dim(line), columns_, style_.utf8);
  }

  std::string Row(const AgentProgress& a) const {
    std::string line;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      AppendCell(line, i, kColumns[i].text(a, style_), kColumns[i].priority == 1 ? &a : nullptr);
    }
    const int room = columns_ - DisplayWidth(line) - kGap;
    if (!a.note.empty() && room >= kShortestNote) {
      const std::string note = CutTo(Harmless(a.note, !style_.utf8), room, style_.utf8);
      line += std::string(kGap, ' ') + (IsTroubled(a) ? paint_.Red(note) : paint_.Dim(note));
    }
    return CutTo(line, columns_, style_.utf8);
  }

 private:
  int Width() const {
    int width = 0;
    for (const int w : widths_) width += w == 0 ? 0 : w + (width == 0 ? 0 : kGap);
    return width;
  }

  // `state_of`: the agent whose state colours this cell, or null.
  void AppendCell(std::string& line, size_t i, const std::string& text,
                  const AgentProgress* state_of = nullptr) const {
    if (widths_[i] == 0) return;
    if (!line.empty()) line += std::string(kGap, ' ');
    const std::string cell =
        kColumns[i].left ? PadRight(text, widths_[i]) : PadLeft(text, widths_[i]);
    line += state_of == nullptr ? cell : PaintState(state_of->state, cell, paint_);
  }

  const std::vector<const AgentProgress*>& shown_;
  int columns_;
  const TextStyle& style_;
  Paint paint_;
  std::array<int, kColumns.size()> widths_{};
};

std::string SumUp(const std::vector<AgentProgress>& rest, const TextStyle& style) {
  double rate = 0;
  uint64_t in_flight = 0;
  for (const AgentProgress& a : rest) {
    rate += a.rate;
    in_flight += a.in_flight;
  }
  return Paint(style.colour)
      .Dim(fmt::format("+ {} more: {}, in flight {}, {}/s", rest.size(), CountStates(rest),
                       Grouped(in_flight), HumanNumber(rate)));
}

// Troubled, then at work (slowest first), then those that are still to come or are done.
bool NeedsAttentionBefore(const AgentProgress* a, const AgentProgress* b) {
  const auto rank = [](const AgentProgress& x) {
    if (IsTroubled(x)) return static_cast<int>(x.state);
    if (x.state == AgentState::kRunning) return 100;
    return x.state == AgentState::kDone ? 102 : 101;
  };
  if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
  return a->rate < b->rate;
}

}  // namespace

std::string CountStates(const std::vector<AgentProgress>& agents) {
  std::array<size_t, 7> counts{};
  for (const AgentProgress& a : agents) ++counts[static_cast<size_t>(a.state)];
  std::string text;
  for (const AgentState state :
       {AgentState::kRunning, AgentState::kPreparing, AgentState::kConnecting, AgentState::kDone,
        AgentState::kReconnecting, AgentState::kFailed, AgentState::kLost}) {
    const size_t count = counts[static_cast<size_t>(state)];
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, AgentStateName(state));
  }
  return text;
}

std::vector<std::string> RenderAgents(const std::vector<AgentProgress>& agents, int rows,
                                      int columns, const TextStyle& style) {
  if (agents.empty() || rows <= 0) return {};
  std::vector<const AgentProgress*> shown;
  shown.reserve(agents.size());
  for (const AgentProgress& a : agents) shown.push_back(&a);
  const bool header = columns >= kHeaderFromColumns && rows >= 3;
  const int room = header ? rows - 1 : rows;
  std::vector<AgentProgress> rest;
  if (static_cast<int>(shown.size()) > room) {
    std::stable_sort(shown.begin(), shown.end(), NeedsAttentionBefore);
    for (size_t i = static_cast<size_t>(room - 1); i < shown.size(); ++i) rest.push_back(*shown[i]);
    shown.resize(static_cast<size_t>(room - 1));
  }
  std::vector<std::string> lines;
  if (!shown.empty()) {
    const AgentTable table(shown, columns, style);
    if (header) lines.push_back(table.Header());
    for (const AgentProgress* a : shown) lines.push_back(table.Row(*a));
  }
  if (!rest.empty()) {
    std::string line = SumUp(rest, style);
    if (shown.empty()) line = fmt::format("{} agents: {}", rest.size(), CountStates(rest));
    lines.push_back(CutTo(line, columns, style.utf8));
  }
  return lines;
}

}  // namespace fetchbench::coordinator
