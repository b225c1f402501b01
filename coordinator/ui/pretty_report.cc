#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/ui/box_table.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/pretty_sections.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr int kGap = 2;  // between boxes side by side
constexpr int kLabelColumns = 9;

// The published table's columns with their values, as that table prints them.
using Cell = std::pair<std::string, std::string>;

std::vector<Cell> MainCells(const Summary& s, const TextStyle& style) {
  const Measured& m = s.measured;
  const auto whole = [](double value) { return fmt::format("{}", std::llround(value)); };
  const auto safe = [&](const std::string& text) {
    return text.empty() ? std::string("-") : Harmless(text, !style.utf8);
  };
  return {{"language", safe(s.facts.language)},
          {"method", safe(s.facts.method)},
          {"concurrency", fmt::format("{}", s.facts.concurrency)},
          {"totalUrls", fmt::format("{}", m.total_urls)},
          {"time", whole(static_cast<double>(m.time_us) / 1000)},
          {"avg", whole(m.all.mean_us / 1000)},
          {"max", whole(static_cast<double>(m.all.max_us) / 1000)},
          {"okReqsSec", whole(m.ok_per_second)},
          {"okReqsPct", fmt::format("{}", std::round(m.ok_fraction * 100) / 100)},
          {"avgBodyLen", whole(m.mean_ok_body_bytes)},
          {"2xx", fmt::format("{}", m.classes.ok)},
          {"3xx", fmt::format("{}", m.classes.redirect)},
          {"4xx", fmt::format("{}", m.classes.client_error)},
          {"5xx", fmt::format("{}", m.classes.server_error)},
          {"Exception", fmt::format("{}", m.classes.exceptions)}};
}

// The published table in one row where it fits; else its cells under each other, in two boxes.
Lines MainTable(const Summary& s, const TextStyle& style) {
  const std::vector<Cell> cells = MainCells(s, style);
  std::vector<BoxTable::Column> columns;
  std::vector<std::string> row;
  for (size_t i = 0; i < cells.size(); ++i) {
    columns.push_back({cells[i].first, i < 2 ? Align::kLeft : Align::kRight});
    row.push_back(cells[i].second);
  }
  BoxTable wide(std::move(columns));
  wide.AddRow(std::move(row));
  if (wide.Width() <= style.width) return wide.Lines(style.utf8);

  const size_t half = (cells.size() + 1) / 2;
  const std::vector<BoxTable::Column> pair = {{"", Align::kLeft}, {"", Align::kRight}};
  BoxTable left(pair);
  BoxTable right(pair);
  for (size_t i = 0; i < cells.size(); ++i) {
    (i < half ? left : right).AddRow({cells[i].first, cells[i].second});
  }
  const Lines l = left.Lines(style.utf8);
  const Lines r = right.Lines(style.utf8);
  if (left.Width() + kGap + right.Width() <= style.width) return SideBySide(l, r, kGap);
  Lines lines = l;
  lines.insert(lines.end(), r.begin(), r.end());
  return lines;
}

// "label    text", the text wrapped beside its label.
void AddLabelled(Lines& lines, const std::string& label, const std::string& text,
                 const TextStyle& style, const std::string& painted_label = "") {
  bool first = true;
  for (const std::string& line : WrapWords(text, style.width - kLabelColumns)) {
    const std::string& shown = painted_label.empty() ? label : painted_label;
    lines.push_back(PadRight(first ? shown : "", kLabelColumns) + line);
    first = false;
  }
}

std::string LedgerText(const Summary& s) {
  const Ledger& l = s.ledger;
  std::string text =
      fmt::format("{} URLs {} {} recorded + {} never started", Grouped(l.total),
                  l.Balanced() ? "=" : "is not", Grouped(l.recorded), Grouped(l.never_started));
  if (s.invalid_lines > 0) text += fmt::format("; {} lines were no URL", Grouped(s.invalid_lines));
  if (l.requested_again > 0)
    text += fmt::format("; {} asked for again", Grouped(l.requested_again));
  if (l.duplicates_dropped > 0) {
    text += fmt::format("; {} second records dropped", Grouped(l.duplicates_dropped));
  }
  return text;
}

std::string TimesText(const Summary& s) {
  const Measured& m = s.measured;
  std::string text = fmt::format("99 % of the URLs after {}; {} requests in flight on average",
                                 HumanDuration(static_cast<double>(m.time_to_99_us)),
                                 HumanNumber(m.mean_in_flight));
  text += fmt::format("; bodies {}", HumanBytes(static_cast<double>(m.body_bytes)));
  if (m.wire_bytes)
    text += fmt::format(", wire {}", HumanBytes(static_cast<double>(*m.wire_bytes)));
  if (m.redirects > 0) text += fmt::format("; {} redirects followed", Grouped(m.redirects));
  if (s.resumed > 0) {
    text += fmt::format("; wall time {}: resumed {} time{}, {} without a coordinator",
                        HumanDuration(static_cast<double>(m.wall_us)), s.resumed,
                        s.resumed == 1 ? "" : "s", HumanDuration(static_cast<double>(s.down_us)));
  }
  return text;
}

std::string CostText(const Summary& s) {
  const Cost& c = s.cost;
  const auto cpu = static_cast<double>(c.user_us + c.system_us);
  const auto seconds = [](int64_t us) {
    return fmt::format("{:.2f}", static_cast<double>(us) / 1e6);
  };
  std::string text =
      fmt::format("target: CPU {} s ({} user, {} system)", seconds(c.user_us + c.system_us),
                  seconds(c.user_us), seconds(c.system_us));
  if (s.measured.timed_urls > 0) {
    text += fmt::format(", {} per URL",
                        HumanDuration(cpu / static_cast<double>(s.measured.timed_urls)));
  }
  text += fmt::format(", peak memory {}", HumanBytes(static_cast<double>(c.peak_rss_bytes_sum)));
  if (s.agents.size() > 1) {
    text +=
        fmt::format(" (largest agent {})", HumanBytes(static_cast<double>(c.peak_rss_bytes_max)));
  }
  if (c.open_sockets_max > 0) text += fmt::format(", {} sockets", Grouped(c.open_sockets_max));
  text += fmt::format("; beside it: agents {} s, ", seconds(c.agent_cpu_us));
  if (c.engine_cpu_us > 0) text += fmt::format("container engine {} s, ", seconds(c.engine_cpu_us));
  text += fmt::format("coordinator {} s", seconds(c.coordinator_cpu_us));
  if (s.origin) text += fmt::format(", origin {} s", seconds(s.origin->cpu_us));
  if (const auto fraction = c.MeasuringFraction()) {
    text += "; measuring cost " + HumanPercent(*fraction);
  }
  if (!c.basis.empty()) text += fmt::format(" (from {})", c.basis);
  return text;
}

std::string Joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::string BasesText(const RunFacts& f) {
  return f.base_images.empty() ? "" : "built on " + Joined(f.base_images, ", ");
}

std::string FactsText(const RunFacts& f) {
  std::vector<std::string> others = f.libraries;  // the TLS library has a place of its own
  std::erase(others, f.tls_library);
  std::vector<std::string> parts = {"fetchbench " + f.version,
                                    Joined({f.target, f.target_version}, " "),
                                    f.runtime,
                                    Joined(others, ", "),
                                    f.tls_library.empty() ? "" : "TLS " + f.tls_library,
                                    f.tls_groups.empty() ? "" : "groups " + f.tls_groups,
                                    f.libc,
                                    f.image_digest,
                                    BasesText(f),
                                    f.limits,
                                    f.host};
  if (f.web == "sim") {
    parts.push_back(
        fmt::format("simulated web, profile {}{}, seed {}", f.profile,
                    f.profile_sha256.empty() ? "" : " " + f.profile_sha256.substr(0, 12), f.seed));
  } else if (!f.web.empty()) {
    parts.push_back("web: " + f.web);
  }
  parts.push_back(fmt::format("timeout {}", HumanDuration(static_cast<double>(f.timeout_us))));
  if (f.per_host > 0) parts.push_back(fmt::format("at most {} at once to a host", f.per_host));
  parts.push_back("started " + f.started_at);
  return Joined(parts, "; ");
}

void AddMarks(Lines& lines, const Summary& s, const TextStyle& style) {
  const Paint paint(style.colour);
  for (const Mark& mark : s.marks) {
    AddLabelled(lines, "mark", Harmless(mark.name + ": " + mark.text, !style.utf8), style,
                paint.Yellow("mark"));
  }
}

void Append(Lines& lines, const Lines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

int WidthOf(const Lines& lines) {
  int width = 0;
  for (const std::string& line : lines) width = std::max(width, DisplayWidth(line));
  return width;
}

// Boxes from left to right as long as they fit, then in the next row of boxes.
void AppendBoxes(Lines& lines, const std::vector<Lines>& boxes, int width) {
  Lines row;
  for (const Lines& box : boxes) {
    if (box.empty()) continue;
    if (!row.empty() && WidthOf(row) + kGap + WidthOf(box) <= width) {
      row = SideBySide(row, box, kGap);
      continue;
    }
    Append(lines, row);
    row = box;
  }
  Append(lines, row);
}

}  // namespace

std::string RenderPretty(const Summary& s, const TextStyle& style) {
  Lines lines = MainTable(s, style);
  AppendBoxes(
      lines, {DurationsBox(s.measured, style), OutcomesBox(s.measured, style), OriginBox(s, style)},
      style.width);
  Append(lines, AgentsBox(s.agents, style));
  const Paint paint(style.colour);
  const auto safe = [&](const std::string& text) { return Harmless(text, !style.utf8); };
  AddLabelled(lines, "times", TimesText(s), style);
  AddLabelled(lines, "cost", safe(CostText(s)), style);
  AddLabelled(lines, "ledger", LedgerText(s), style,
              s.ledger.Balanced() ? "" : paint.Red("ledger"));
  AddLabelled(lines, "facts", safe(FactsText(s.facts)), style);
  AddMarks(lines, s, style);
  if (!s.facts.folder.empty()) AddLabelled(lines, "folder", safe(s.facts.folder), style);
  if (!s.resume_command.empty()) AddLabelled(lines, "go on", safe(s.resume_command), style);
  std::string out;
  for (const std::string& line : lines) out.append(line).append("\n");
  return out;
}

}  // namespace fetchbench::coordinator
