#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/utf8.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

// RFC 4180.
std::string Field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

class Row {
 public:
  void Text(std::string_view name, std::string_view value) {
    cells_.emplace_back(name, Field(ValidUtf8(value, kReplacementCharacter)));
  }
  void Number(std::string_view name, uint64_t value) {
    cells_.emplace_back(name, std::to_string(value));
  }
  void Real(std::string_view name, double value) {
    cells_.emplace_back(name, std::isfinite(value) ? fmt::format("{}", value) : "");
  }
  void Rounded(std::string_view name, double value) {
    cells_.emplace_back(name, std::to_string(std::llround(value)));
  }
  void Ms(std::string_view name, int64_t us) { Real(name, static_cast<double>(us) / 1000.0); }
  void Durations(const std::string& prefix, const DurationStats& stats) {
    Number(prefix + "Count", stats.count);
    Real(prefix + "Mean", stats.mean_us / 1000.0);
    Ms(prefix + "P50", stats.p50_us);
    Ms(prefix + "P90", stats.p90_us);
    Ms(prefix + "P99", stats.p99_us);
    Ms(prefix + "P99.9", stats.p999_us);
    Ms(prefix + "Max", stats.max_us);
  }

  std::string Print() const {
    std::string header;
    std::string row;
    for (const auto& [name, value] : cells_) {
      const char* comma = header.empty() ? "" : ",";
      header += comma + Field(name);
      row += comma + value;
    }
    return header + "\n" + row + "\n";
  }

 private:
  std::vector<std::pair<std::string, std::string>> cells_;
};

void AddTableColumns(Row& row, const RunFacts& f, const Measured& m) {
  row.Text("language", f.language);
  row.Text("method", f.method);
  row.Number("concurrency", f.concurrency);
  row.Number("totalUrls", m.total_urls);
  row.Rounded("time", static_cast<double>(m.time_us) / 1000);
  row.Rounded("avg", m.all.mean_us / 1000);
  row.Rounded("max", static_cast<double>(m.all.max_us) / 1000);
  row.Rounded("okReqsSec", m.ok_per_second);
  row.Real("okReqsPct", std::round(m.ok_fraction * 100) / 100);
  row.Rounded("avgBodyLen", m.mean_ok_body_bytes);
  row.Number("2xx", m.classes.ok);
  row.Number("3xx", m.classes.redirect);
  row.Number("4xx", m.classes.client_error);
  row.Number("5xx", m.classes.server_error);
  row.Number("Exception", m.classes.exceptions);
  row.Number("otherStatus", m.classes.other_status);
}

}  // namespace

std::string RenderCsv(const Summary& s) {
  const Measured& m = s.measured;
  Row row;
  AddTableColumns(row, s.facts, m);
  row.Ms("timeTo99", m.time_to_99_us);
  row.Real("meanInFlight", m.mean_in_flight);
  row.Durations("all", m.all);
  row.Durations("2xx", m.ok);
  row.Durations("otherStatus", m.answered);
  row.Durations("failures", m.failed);
  row.Durations("overshoot", m.overshoot);
  for (size_t i = 2; i < m.outcomes.size(); ++i) {  // from invalid_url on: `status` is in classes
    row.Number(OutcomeName(static_cast<Outcome>(i)), m.outcomes[i]);
  }
  row.Number("bodyBytes", m.body_bytes);
  row.Text("wireBytes", m.wire_bytes ? std::to_string(*m.wire_bytes) : "");
  row.Real("cpuUserSeconds", static_cast<double>(s.cost.user_us) / 1e6);
  row.Real("cpuSystemSeconds", static_cast<double>(s.cost.system_us) / 1e6);
  row.Number("peakMemoryBytes", s.cost.peak_rss_bytes_sum);
  row.Number("openSockets", s.cost.open_sockets_max);
  row.Real("agentCpuSeconds", static_cast<double>(s.cost.agent_cpu_us) / 1e6);
  row.Real("engineCpuSeconds", static_cast<double>(s.cost.engine_cpu_us) / 1e6);
  row.Number("agents", s.agents.size());
  row.Number("ledgerTotal", s.ledger.total);
  row.Number("ledgerRecorded", s.ledger.recorded);
  row.Number("ledgerNeverStarted", s.ledger.never_started);
  row.Text("end", RunEndName(s.end));
  std::string marks;
  for (const Mark& mark : s.marks) marks += (marks.empty() ? "" : ";") + mark.name;
  row.Text("marks", marks);
  row.Text("target", s.facts.target);
  row.Text("web", s.facts.web);
  row.Text("profile", s.facts.profile);
  row.Number("seed", s.facts.seed);
  row.Text("runId", s.facts.run_id);
  return row.Print();
}

}  // namespace fetchbench::coordinator
