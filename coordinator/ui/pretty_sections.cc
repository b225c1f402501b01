#include "coordinator/ui/pretty_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "coordinator/ui/box_table.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr int kLongestName = 24;
constexpr int kShortestNote = 16;

std::string Ms(double us) {
  return us < 99'950 ? fmt::format("{:.1f}", us / 1000) : fmt::format("{:.0f}", us / 1000);
}
std::string Ms(int64_t us) { return Ms(static_cast<double>(us)); }

void AddDurations(BoxTable& table, const std::string& name, const DurationStats& stats) {
  if (stats.count == 0) return;
  table.AddRow({name, Grouped(stats.count), Ms(stats.mean_us), Ms(stats.p50_us), Ms(stats.p90_us),
                Ms(stats.p99_us), Ms(stats.p999_us), Ms(stats.max_us)});
}

uint64_t InClass(const std::map<int, uint64_t>& codes, int hundreds) {
  uint64_t sum = 0;
  for (const auto& [code, count] : codes) {
    if (code / 100 == hundreds) sum += count;
  }
  return sum;
}

// Cut lines of a box would lose their right border: a box that is too wide is left out by its
// caller, or its columns are.
struct AgentColumn {
  BoxTable::Column column;
  std::string (*text)(const AgentSummary&);
};

std::vector<AgentColumn> AgentColumns() {
  return {
      {{"records", Align::kRight}, [](const AgentSummary& a) { return Grouped(a.records); }},
      {{"CPU s", Align::kRight},
       [](const AgentSummary& a) {
         return fmt::format("{:.2f}",
                            static_cast<double>(a.target_user_us + a.target_system_us) / 1e6);
       }},
      {{"memory", Align::kRight},
       [](const AgentSummary& a) { return HumanBytes(static_cast<double>(a.peak_rss_bytes)); }},
      {{"in flight", Align::kRight},
       [](const AgentSummary& a) { return fmt::format("{}", a.most_in_flight); }},
      {{"other CPU", Align::kRight},
       [](const AgentSummary& a) {
         return fmt::format("{:.0f} %", a.other_cpu_busy_max_fraction * 100);
       }},
      {{"steal", Align::kRight},
       [](const AgentSummary& a) { return HumanPercent(a.steal_fraction); }},
      {{"stalled ms", Align::kRight}, [](const AgentSummary& a) { return Ms(a.stalled_us); }},
      {{"clock ms", Align::kRight},
       [](const AgentSummary& a) {
         return fmt::format("{:+.1f}", static_cast<double>(a.clock_offset_us) / 1000);
       }},
      {{"reconnects", Align::kRight},
       [](const AgentSummary& a) { return fmt::format("{}", a.reconnects); }},
  };
}

std::string AgentNote(const AgentSummary& a) {
  std::string note = a.lost ? "lost" : "";
  if (!a.trouble.empty()) note += (note.empty() ? "" : ": ") + a.trouble;
  return note;
}

BoxTable AgentTable(const std::vector<const AgentSummary*>& agents, size_t columns,
                    int note_columns, const TextStyle& style) {
  const std::vector<AgentColumn> all = AgentColumns();
  std::vector<BoxTable::Column> headers = {{"agent", Align::kLeft}};
  for (size_t i = 0; i < columns; ++i) headers.push_back(all[i].column);
  if (note_columns > 0) headers.push_back({"trouble", Align::kLeft});
  BoxTable table(std::move(headers));
  for (const AgentSummary* a : agents) {
    std::vector<std::string> row = {
        CutTo(Harmless(a->name, !style.utf8), kLongestName, style.utf8)};
    for (size_t i = 0; i < columns; ++i) row.push_back(all[i].text(*a));
    if (note_columns > 0) {
      const std::string note =
          CutTo(Harmless(AgentNote(*a), !style.utf8), note_columns, style.utf8);
      row.push_back(Paint(style.colour).Red(note));
    }
    table.AddRow(std::move(row));
  }
  return table;
}

}  // namespace

Lines DurationsBox(const Measured& m, const TextStyle& style) {
  BoxTable table({{"duration, ms", Align::kLeft},
                  {"URLs", Align::kRight},
                  {"mean", Align::kRight},
                  {"p50", Align::kRight},
                  {"p90", Align::kRight},
                  {"p99", Align::kRight},
                  {"p99.9", Align::kRight},
                  {"max", Align::kRight}});
  if (m.all.count == 0) return {};
  AddDurations(table, "all", m.all);
  AddDurations(table, "2xx", m.ok);
  AddDurations(table, "other status", m.answered);
  AddDurations(table, "failures", m.failed);
  AddDurations(table, "beyond timeout", m.overshoot);
  return table.Width() <= style.width ? table.Lines(style.utf8) : Lines{};
}

Lines OutcomesBox(const Measured& m, const TextStyle& style) {
  std::vector<std::pair<std::string, uint64_t>> counts = {{"2xx", m.classes.ok},
                                                          {"3xx", m.classes.redirect},
                                                          {"4xx", m.classes.client_error},
                                                          {"5xx", m.classes.server_error}};
  // Statuses that belong to none of the original's columns are named one by one.
  for (const auto& [code, count] : m.status_codes) {
    if (code < 200 || code > 599) counts.emplace_back(fmt::format("status {}", code), count);
  }
  for (size_t i = 0; i < m.outcomes.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (outcome != Outcome::kStatus) counts.emplace_back(OutcomeName(outcome), m.outcomes[i]);
  }
  std::erase_if(counts, [](const auto& c) { return c.second == 0; });
  if (counts.empty()) return {};
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  BoxTable table({{"outcome", Align::kLeft}, {"URLs", Align::kRight}, {"share", Align::kRight}});
  for (const auto& [name, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(m.total_urls);
    table.AddRow({name, Grouped(count), HumanPercent(share)});
  }
  return table.Lines(style.utf8);
}

Lines OriginBox(const Summary& s, const TextStyle& style) {
  if (!s.origin) return {};
  const OriginSummary& o = *s.origin;
  BoxTable table(
      {{"reported/seen", Align::kLeft}, {"target", Align::kRight}, {"origin", Align::kRight}});
  for (const int hundreds : {2, 3, 4, 5}) {
    const uint64_t reported = InClass(s.measured.status_codes, hundreds);
    const uint64_t sent = InClass(o.responses, hundreds);
    if (reported + sent == 0) continue;
    // Every hop of a redirect is sent, only the last one is reported.
    const char* note = hundreds == 3 ? " (hops)" : "";
    table.AddRow({fmt::format("{}xx{}", hundreds, note), Grouped(reported), Grouped(sent)});
  }
  uint64_t in_flight = 0;
  for (const AgentSummary& a : s.agents) in_flight += a.most_in_flight;
  table.AddRow({"most in flight", Grouped(in_flight), Grouped(o.most_in_flight)});
  table.AddRow({"requests", "", Grouped(o.requests)});
  table.AddRow({"connections", "", Grouped(o.connections)});
  table.AddRow({"TLS handshakes", "", Grouped(o.tls_handshakes)});
  table.AddRow({"DNS queries", "", Grouped(o.dns_queries)});
  table.AddRow({"late p99, ms", "", Ms(o.lateness_p99_us)});
  return table.Lines(style.utf8);
}

Lines AgentsBox(const std::vector<AgentSummary>& agents, const TextStyle& style) {
  if (agents.empty()) return {};
  std::vector<const AgentSummary*> shown;
  shown.reserve(agents.size());
  for (const AgentSummary& a : agents) shown.push_back(&a);
  if (shown.size() > kMaxAgentRows) {
    std::stable_sort(shown.begin(), shown.end(), [](const AgentSummary* a, const AgentSummary* b) {
      return std::tuple(!a->lost, a->trouble.empty(), a->records) <
             std::tuple(!b->lost, b->trouble.empty(), b->records);
    });
    shown.resize(kMaxAgentRows);
  }
  const bool noted = std::any_of(shown.begin(), shown.end(),
                                 [](const AgentSummary* a) { return !AgentNote(*a).empty(); });
  size_t columns = AgentColumns().size();
  const auto fits = [&](size_t n) {
    return AgentTable(shown, n, noted ? kShortestNote : 0, style).Width() <= style.width;
  };
  while (columns > 0 && !fits(columns)) --columns;
  int note_columns = noted ? kShortestNote : 0;
  if (noted) {
    note_columns += style.width - AgentTable(shown, columns, note_columns, style).Width();
    note_columns = std::max(note_columns, kShortestNote);
  }
  Lines lines = AgentTable(shown, columns, note_columns, style).Lines(style.utf8);
  if (shown.size() < agents.size()) {
    uint64_t records = 0;
    for (const AgentSummary& a : agents) records += a.records;
    for (const AgentSummary* a : shown) records -= a->records;
    const std::string more =
        fmt::format("and {} more agents with {} records (all are in summary.json)",
                    agents.size() - shown.size(), Grouped(records));
    for (std::string& line : WrapWords(more, style.width)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace fetchbench::coordinator
