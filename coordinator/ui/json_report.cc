#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstddef>
#include <string>

#include "common/utf8.h"
#include "coordinator/summary/disturbance_json.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

double Ms(double us) { return us / 1000.0; }
double Ms(int64_t us) { return Ms(static_cast<double>(us)); }
double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

json::string Text(std::string_view text) {
  return json::string(ValidUtf8(text, kReplacementCharacter));
}

json::array Texts(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.emplace_back(Text(text));
  return out;
}

// Boost.JSON prints 0.8 as 8E-1 and has no indented form: this prints what a person would write.
void Print(std::string& out, const json::value& value, int indent) {
  const auto line_start = [&](int depth) {
    out += '\n';
    out.append(static_cast<size_t>(depth) * 2, ' ');
  };
  if (value.is_double()) {
    const double number = value.get_double();
    out += std::isfinite(number) ? fmt::format("{}", number) : "null";
  } else if (value.is_object() && !value.get_object().empty()) {
    out += '{';
    bool first = true;
    for (const auto& member : value.get_object()) {
      if (!first) out += ',';
      first = false;
      line_start(indent + 1);
      out += json::serialize(json::value(member.key()));
      out += ": ";
      Print(out, member.value(), indent + 1);
    }
    line_start(indent);
    out += '}';
  } else if (value.is_array() && !value.get_array().empty()) {
    out += '[';
    bool first = true;
    for (const json::value& element : value.get_array()) {
      if (!first) out += ',';
      first = false;
      line_start(indent + 1);
      Print(out, element, indent + 1);
    }
    line_start(indent);
    out += ']';
  } else {
    out += json::serialize(value);
  }
}

json::object Durations(const DurationStats& stats) {
  return {{"count", stats.count},       {"mean", Ms(stats.mean_us)}, {"min", Ms(stats.min_us)},
          {"p50", Ms(stats.p50_us)},    {"p90", Ms(stats.p90_us)},   {"p99", Ms(stats.p99_us)},
          {"p99.9", Ms(stats.p999_us)}, {"max", Ms(stats.max_us)}};
}

json::object Codes(const std::map<int, uint64_t>& codes) {
  json::object out;
  for (const auto& [code, count] : codes) out[std::to_string(code)] = count;
  return out;
}

json::object Outcomes(const OutcomeCounts& outcomes) {
  json::object out;
  for (size_t i = 1; i < outcomes.size(); ++i) {
    out[OutcomeName(static_cast<Outcome>(i))] = outcomes[i];
  }
  if (outcomes[0] > 0) out[OutcomeName(Outcome::kUnspecified)] = outcomes[0];
  return out;
}

json::object Run(const RunFacts& f) {
  return {{"id", Text(f.run_id)},
          {"folder", Text(f.folder)},
          {"fetchbench", Text(f.version)},
          {"started_at", Text(f.started_at)},
          {"target", Text(f.target)},
          {"language", Text(f.language)},
          {"method", Text(f.method)},
          {"target_version", Text(f.target_version)},
          {"runtime", Text(f.runtime)},
          {"libraries", Texts(f.libraries)},
          {"tls_library", Text(f.tls_library)},
          {"tls_groups", Text(f.tls_groups)},
          {"libc", Text(f.libc)},
          {"image_digest", Text(f.image_digest)},
          {"base_images", Texts(f.base_images)},
          {"limits", Text(f.limits)},
          {"host", Text(f.host)},
          {"web", Text(f.web)},
          {"profile", Text(f.profile)},
          {"profile_sha256", Text(f.profile_sha256)},
          {"seed", f.seed},
          {"urls", Text(f.urls)},
          {"concurrency", f.concurrency},
          {"concurrency_per_agent", f.concurrency_per_agent},
          {"per_host", f.per_host},
          {"timeout_ms", Ms(f.timeout_us)},
          {"duration_limit_ms", Ms(f.duration_limit_us)},
          {"user_agent", Text(f.user_agent)}};
}

json::object LedgerOf(const Summary& s) {
  return {{"balanced", s.ledger.Balanced()},
          {"total", s.ledger.total},
          {"recorded", s.ledger.recorded},
          {"never_started", s.ledger.never_started},
          {"duplicates_dropped", s.ledger.duplicates_dropped},
          {"requested_again", s.ledger.requested_again},
          {"invalid_lines", s.invalid_lines}};
}

json::object CostOf(const Summary& s) {
  const Cost& c = s.cost;
  json::object out = {{"target_user_s", Seconds(c.user_us)},
                      {"target_system_s", Seconds(c.system_us)},
                      {"target_cpu_ms_per_url", nullptr},
                      {"target_peak_memory_bytes", c.peak_rss_bytes_sum},
                      {"target_peak_memory_bytes_largest_agent", c.peak_rss_bytes_max},
                      {"target_open_sockets_max", c.open_sockets_max},
                      {"cost_basis", Text(c.basis)},
                      {"agents_cpu_s", Seconds(c.agent_cpu_us)},
                      {"engine_cpu_s", Seconds(c.engine_cpu_us)},
                      {"measuring_fraction", nullptr},
                      {"coordinator_cpu_s", Seconds(c.coordinator_cpu_us)}};
  if (s.measured.timed_urls > 0) {
    out["target_cpu_ms_per_url"] =
        Ms(c.user_us + c.system_us) / static_cast<double>(s.measured.timed_urls);
  }
  if (const auto fraction = c.MeasuringFraction()) out["measuring_fraction"] = *fraction;
  return out;
}

json::object Agent(const AgentSummary& a) {
  json::object out = {{"name", Text(a.name)},
                      {"host", Text(a.host)},
                      {"cpu_model", Text(a.cpu_model)},
                      {"target_cpus", Text(a.target_cpus)},
                      {"records", a.records},
                      {"most_in_flight", a.most_in_flight},
                      {"target_user_s", Seconds(a.target_user_us)},
                      {"target_system_s", Seconds(a.target_system_us)},
                      {"target_peak_memory_bytes", a.peak_rss_bytes},
                      {"target_open_sockets_max", a.open_sockets_max},
                      {"agent_cpu_s", Seconds(a.agent_cpu_us)},
                      {"engine_cpu_s", Seconds(a.engine_cpu_us)},
                      {"other_cpu_busy_max", a.other_cpu_busy_max_fraction},
                      {"steal", a.steal_fraction},
                      {"stalled_ms", Ms(a.stalled_us)},
                      {"clock_offset_ms", Ms(a.clock_offset_us)},
                      {"reconnects", a.reconnects},
                      {"urls_moved", a.urls_moved},
                      {"surplus_lines", a.surplus_lines},
                      {"unparsable_lines", a.unparsable_lines},
                      {"target_exit_code", nullptr},
                      {"lost", a.lost},
                      {"trouble", Text(a.trouble)}};
  if (!a.target_stderr.empty()) out["target_stderr"] = Text(a.target_stderr);
  if (a.target_exit_code) out["target_exit_code"] = *a.target_exit_code;
  return out;
}

json::value Origin(const std::optional<OriginSummary>& origin) {
  if (!origin) return nullptr;
  return json::object{{"dns_queries", origin->dns_queries},
                      {"connections", origin->connections},
                      {"tls_handshakes", origin->tls_handshakes},
                      {"requests", origin->requests},
                      {"responses", Codes(origin->responses)},
                      {"most_in_flight", origin->most_in_flight},
                      {"most_requests_of_a_host", origin->most_requests_of_a_host},
                      {"hosts", origin->hosts},
                      {"lateness_ms",
                       {{"p50", Ms(origin->lateness_p50_us)},
                        {"p99", Ms(origin->lateness_p99_us)},
                        {"max", Ms(origin->lateness_max_us)}}},
                      {"cpu_s", Seconds(origin->cpu_us)}};
}

// The names and roundings of the original benchmark's process-output.js.
json::object Original(const Measured& m) {
  const auto rounded = [](double value) { return static_cast<int64_t>(std::llround(value)); };
  return {{"totalUrls", m.total_urls},
          {"time", rounded(Ms(m.time_us))},
          {"avg", rounded(Ms(m.all.mean_us))},
          {"max", rounded(Ms(m.all.max_us))},
          {"okReqsSec", rounded(m.ok_per_second)},
          {"okReqsPct", std::round(m.ok_fraction * 100) / 100},
          {"avgBodyLen", rounded(m.mean_ok_body_bytes)},
          {"2xx", m.classes.ok},
          {"3xx", m.classes.redirect},
          {"4xx", m.classes.client_error},
          {"5xx", m.classes.server_error},
          {"Exception", m.classes.exceptions}};
}

}  // namespace

std::string RenderJson(const Summary& s) {
  const Measured& m = s.measured;
  json::object out = Original(m);
  out["otherStatus"] = m.classes.other_status;
  out["end"] = RunEndName(s.end);
  out["degraded"] = s.degraded;
  out["reason"] = Text(s.reason);
  json::array marks;
  for (const Mark& mark : s.marks) {
    marks.push_back(json::object{{"name", Text(mark.name)}, {"text", Text(mark.text)}});
  }
  out["marks"] = std::move(marks);
  out["resumed"] = s.resumed;
  out["downtime_ms"] = Ms(s.down_us);
  out["wall_time_ms"] = Ms(m.wall_us);
  out["resume_command"] = Text(s.resume_command);
  out["ledger"] = LedgerOf(s);
  out["durations_ms"] = {{"all", Durations(m.all)},
                         {"2xx", Durations(m.ok)},
                         {"other_status", Durations(m.answered)},
                         {"failures", Durations(m.failed)}};
  out["timeout_overshoot_ms"] = Durations(m.overshoot);
  out["time_to_99_ms"] = Ms(m.time_to_99_us);
  out["mean_in_flight"] = m.mean_in_flight;
  out["timed_urls"] = m.timed_urls;
  out["outcomes"] = Outcomes(m.outcomes);
  out["status_codes"] = Codes(m.status_codes);
  out["body_bytes"] = m.body_bytes;
  out["wire_bytes"] = m.wire_bytes ? json::value(*m.wire_bytes) : json::value(nullptr);
  out["redirects"] = m.redirects;
  out["cost"] = CostOf(s);
  json::array agents;
  for (const AgentSummary& agent : s.agents) agents.push_back(Agent(agent));
  out["agents"] = std::move(agents);
  out["disturbed_earlier"] = DisturbancesJson(s.disturbed_earlier);
  out["origin"] = Origin(s.origin);
  out["run"] = Run(s.facts);
  std::string text;
  Print(text, out, 0);
  text += '\n';
  return text;
}

}  // namespace fetchbench::coordinator
