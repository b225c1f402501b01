#include "samples.h"

#include <fmt/format.h>

#include <string>

#include "coordinator/summary/marks.h"

namespace fetchbench::coordinator {
namespace {

size_t At(Outcome outcome) { return static_cast<size_t>(outcome); }

DurationStats Durations(uint64_t count, double mean_us, int64_t p50, int64_t p90, int64_t p99,
                        int64_t p999, int64_t max) {
  return {.count = count,
          .mean_us = mean_us,
          .min_us = 1'250,
          .p50_us = p50,
          .p90_us = p90,
          .p99_us = p99,
          .p999_us = p999,
          .max_us = max};
}

AgentProgress SampleAgent(size_t i, size_t agents) {
  AgentProgress a;
  a.name = agents == 1 ? "local" : fmt::format("10.0.3.{}:7311", i + 1);
  a.state = AgentState::kRunning;
  a.concurrency = static_cast<uint32_t>(agents == 1 ? 150 : 20);
  a.in_flight = a.concurrency - static_cast<uint32_t>(i % 4);
  a.done = 3'310 / agents + i;
  a.rate = 203.4 / static_cast<double>(agents) + static_cast<double>(i % 7) / 10;
  a.cpu_fraction = 0.42 + static_cast<double>(i % 5) / 20;
  a.rss_bytes = 61'400'000 + i * 100'000;
  if (i == 6) {
    a.state = AgentState::kLost;
    a.note = "no answer for 31 s: \x1b[2Jconnection reset";
    a.rate = 0;
    a.in_flight = 0;
  } else if (i == 18) {
    a.state = AgentState::kReconnecting;
    a.note = "retry 3 in 4 s";
    a.rate = 0;
  } else if (i == 30) {
    a.rate = 0.3;
  }
  return a;
}

AgentSummary SampleAgentSummary(size_t i, size_t agents) {
  AgentSummary a;
  a.name = agents == 1 ? "local" : fmt::format("10.0.3.{}:7311", i + 1);
  a.host = "bench-1";
  a.cpu_model = "Neoverse-V1";
  a.target_cpus = "1";
  a.records = 10'000 / agents;
  a.most_in_flight = static_cast<uint32_t>(agents == 1 ? 150 : 20);
  a.target_user_us = 3'100'000 / static_cast<int64_t>(agents);
  a.target_system_us = 1'400'000 / static_cast<int64_t>(agents);
  a.peak_rss_bytes = 61'400'000;
  a.agent_cpu_us = 210'000;
  a.other_cpu_busy_max_fraction = 0.41;
  a.steal_fraction = 0.0004;
  a.clock_offset_us = 120;
  if (i == 6) {
    a.lost = true;
    a.trouble = "no answer for 31 s: \x1b[2Jconnection reset";
    a.reconnects = 3;
  }
  return a;
}

RunFacts SampleFacts(size_t agents) {
  RunFacts f;
  f.run_id = "20260131-235959-native-7f3a";
  f.folder = "out/20260131-235959-native-7f3a";
  f.version = "0.1.0";
  f.started_at = "2026-01-31T23:59:59.000000Z";
  f.target = "native";
  f.language = "C++";
  f.method = "Beast";
  f.target_version = "0.1.0";
  f.runtime = "g++ 12.2.0";
  f.libraries = {"Boost 1.81", "c-ares 1.18.1"};
  f.tls_library = "OpenSSL 3.0.17";
  f.tls_groups = "x25519:secp256r1";
  f.libc = "glibc 2.36";
  f.host = "bench-1, Neoverse-V1, 2 CPUs, Linux 6.1";
  f.web = "sim";
  f.profile = "published";
  f.profile_sha256 = "0123456789abcdef0123456789abcdef";
  f.seed = 1;
  f.urls = "data/urls.txt";
  f.concurrency = agents == 1 ? 150 : 20 * agents;
  f.concurrency_per_agent = agents == 1 ? 150 : 20;
  f.timeout_us = 5'000'000;
  f.user_agent = "fetchbench/0.1.0";
  return f;
}

Measured SampleMeasured() {
  Measured m;
  m.total_urls = 10'000;
  m.timed_urls = 10'000;
  m.first_start_us = 1'769'903'999'000'000;
  m.time_us = 49'149'300;
  m.time_to_99_us = 45'003'000;
  m.mean_in_flight = 138.4;
  m.ok_per_second = 162.4;
  m.ok_fraction = 0.798;
  m.mean_ok_body_bytes = 256'487.3;
  m.classes = {.ok = 7'980,
               .redirect = 1,
               .client_error = 970,
               .server_error = 21,
               .other_status = 1,
               .exceptions = 1'027};
  m.outcomes[At(Outcome::kStatus)] = 8'973;
  m.outcomes[At(Outcome::kDnsNotFound)] = 702;
  m.outcomes[At(Outcome::kConnectTimeout)] = 203;
  m.outcomes[At(Outcome::kDnsFailure)] = 71;
  m.outcomes[At(Outcome::kTlsCertificate)] = 48;
  m.outcomes[At(Outcome::kTimeoutBeforeHeaders)] = 3;
  m.status_codes = {{200, 7'975}, {204, 5},  {304, 1},  {403, 310},
                    {404, 660},   {500, 11}, {503, 10}, {999, 1}};
  m.all = Durations(10'000, 680'214, 212'100, 1'320'000, 5'001'000, 5'004'200, 5'018'204);
  m.ok = Durations(7'980, 512'300, 224'900, 1'110'000, 3'204'000, 4'811'000, 4'980'112);
  m.answered = Durations(993, 401'900, 190'000, 870'000, 2'804'000, 3'900'000, 3'901'000);
  m.failed = Durations(1'027, 2'254'100, 80'900, 5'001'000, 5'006'000, 5'018'204, 5'018'204);
  m.overshoot = Durations(206, 2'100, 1'300, 4'100, 9'000, 18'204, 18'204);
  m.body_bytes = 2'100'456'789;
  m.wire_bytes = 2'190'456'789;
  m.redirects = 2'311;
  return m;
}

}  // namespace

ProgressSnapshot SampleSnapshot(size_t agents) {
  ProgressSnapshot s;
  s.title = "native, 10,000 URLs, sim:published, seed 1";
  s.phase = "running";
  s.total = 10'000;
  s.done = 3'310;
  s.elapsed_s = 16.4;
  s.rate_now = 203.4;
  s.rate_overall = 201.8;
  s.eta_s = EstimateEta(s.total, s.done, s.rate_now, s.rate_overall);
  s.concurrency = agents == 1 ? 150 : 20 * agents;
  s.in_flight = s.concurrency * 24 / 25;
  s.classes = {.ok = 2'641,
               .redirect = 0,
               .client_error = 321,
               .server_error = 7,
               .other_status = 0,
               .exceptions = 341};
  s.outcomes[At(Outcome::kStatus)] = 2'969;
  s.outcomes[At(Outcome::kDnsNotFound)] = 232;
  s.outcomes[At(Outcome::kConnectTimeout)] = 68;
  s.outcomes[At(Outcome::kDnsFailure)] = 23;
  s.outcomes[At(Outcome::kTlsCertificate)] = 17;
  s.outcomes[At(Outcome::kTimeoutBeforeHeaders)] = 1;
  s.p50_us = 212'100;
  s.p90_us = 1'320'000;
  s.p99_us = 5'001'000;
  s.bytes = 680'123'456;
  s.bytes_per_s = 41'300'000;
  for (size_t i = 0; i < agents; ++i) s.agents.push_back(SampleAgent(i, agents));
  return s;
}

Summary SampleSummary(size_t agents) {
  Summary s;
  s.facts = SampleFacts(agents);
  s.measured = SampleMeasured();
  s.ledger = {.total = 10'000, .recorded = 10'000, .never_started = 0};
  s.cost = {.user_us = 3'100'000,
            .system_us = 1'400'000,
            .peak_rss_bytes_sum = 61'400'000 * agents,
            .peak_rss_bytes_max = 61'400'000,
            .agent_cpu_us = 210'000 * static_cast<int64_t>(agents),
            .coordinator_cpu_us = 190'000};
  for (size_t i = 0; i < agents; ++i) s.agents.push_back(SampleAgentSummary(i, agents));
  if (agents > 6) {
    s.degraded = true;
    s.reason = "agent 10.0.3.7:7311 was lost";
    s.degraded_by = s.reason;
    s.ledger.requested_again = 20;
  }
  OriginSummary o;
  o.dns_queries = 14'201;
  o.connections = 11'380;
  o.tls_handshakes = 9'800;
  o.requests = 11'310;
  o.responses = {{200, 7'975}, {204, 5},  {301, 2'312}, {304, 1}, {403, 310},
                 {404, 660},   {500, 11}, {503, 10},    {999, 1}};
  o.most_in_flight = 149;
  o.most_requests_of_a_host = 3;
  o.hosts = 9'214;
  o.lateness_p50_us = 90;
  o.lateness_p99_us = 7'100;
  o.lateness_max_us = 12'000;
  o.cpu_us = 4'200'000;
  s.origin = o;
  s.marks = FindMarks(s);
  return s;
}

}  // namespace fetchbench::coordinator
