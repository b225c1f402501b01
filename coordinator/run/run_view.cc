#include "coordinator/run/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "coordinator/run/run_report.h"
#include "coordinator/ui/human_numbers.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kMaxAgentsNamed = 5;

std::string AloneInWords(const Solitude& alone, SteadyTime now) {
  return fmt::format("no agent is here, waiting for {}: {}",
                     HumanSeconds(std::chrono::duration<double>(now - alone.since).count()),
                     alone.troubles);
}

std::string Befell(const Disturbance& a) {
  std::string words = a.agent;
  if (a.lost) {
    words += " lost";
  } else if (a.reconnects > 0) {
    words += fmt::format(" came back {} time{}", a.reconnects, a.reconnects == 1 ? "" : "s");
  }
  if (!a.trouble.empty()) words += fmt::format(" ({})", a.trouble);
  if (a.urls_moved > 0) words += fmt::format(", {} URLs moved", Grouped(a.urls_moved));
  return words;
}

std::string AllInWords(std::vector<Disturbance> disturbed) {
  // Those that need somebody come first.
  std::stable_partition(disturbed.begin(), disturbed.end(),
                        [](const Disturbance& d) { return d.lost; });
  const size_t named = std::min(disturbed.size(), kMaxAgentsNamed);
  std::string words;
  for (size_t i = 0; i < named; ++i) {
    words += fmt::format("{}{}", i == 0 ? "" : "; ", Befell(disturbed[i]));
  }
  if (named < disturbed.size()) {
    words += fmt::format("; and {} more agents (summary.json has them)", disturbed.size() - named);
  }
  return words;
}

}  // namespace

ProgressSnapshot ProgressView::Take(RunEngine& engine, const RunOptions& options, SteadyTime now,
                                    std::optional<SteadyTime> since,
                                    const std::vector<AgentProgress>& preparing) {
  ProgressSnapshot s;
  s.title = MakeTitle(options);
  const auto counts = engine.counts();
  if (counts) s.total = counts->total;
  const Aggregator& aggregator = engine.aggregator();
  s.done = engine.committed();
  if (!since) known_ = s.done;
  if (since) s.elapsed_s = std::chrono::duration<double>(now - *since).count();
  record_rate_.Sample(now, s.done);
  byte_rate_.Sample(now, aggregator.body_bytes());
  s.rate_now = record_rate_.PerSecond();
  s.rate_overall = s.elapsed_s > 0 ? static_cast<double>(s.done - known_) / s.elapsed_s : 0;
  s.eta_s = EstimateEta(s.total, s.done, s.rate_now, s.rate_overall);
  s.classes = aggregator.classes();
  s.outcomes = aggregator.outcomes();
  s.p50_us = aggregator.DurationQuantileUs(0.5);
  s.p90_us = aggregator.DurationQuantileUs(0.9);
  s.p99_us = aggregator.DurationQuantileUs(0.99);
  s.bytes = aggregator.body_bytes();
  s.bytes_per_s = byte_rate_.PerSecond();
  if (engine.connected()) {
    s.agents = engine.board().Rows(now);
    s.in_flight = engine.board().InFlight();
  } else {
    s.agents = preparing;
  }
  s.concurrency = uint64_t{options.concurrency} * s.agents.size();
  if (const auto alone = engine.alone()) s.notices.push_back(AloneInWords(*alone, now));
  return s;
}

std::string DegradedInWords(const std::vector<Disturbance>& now,
                            const std::vector<Disturbance>& earlier) {
  std::string words = AllInWords(now);
  if (earlier.empty()) return words;
  return fmt::format("{}{}before the run was resumed: {}", words, words.empty() ? "" : "; ",
                     AllInWords(earlier));
}

std::string ResumingInWords(const std::string& run_id, uint64_t recorded, uint64_t urls,
                            uint64_t cut_short) {
  const std::string again =
      cut_short == 0 ? ""
                     : fmt::format("; {} that were cut short get another turn", Grouped(cut_short));
  return fmt::format("Resuming run {}: {} of {} URLs have their record{}.", run_id,
                     Grouped(recorded), Grouped(urls), again);
}

std::string ConcurrencyInWords(uint32_t each, size_t agents) {
  return fmt::format("Concurrency: {} for each of {} agents, {} in total.", each, agents,
                     uint64_t{each} * agents);
}

ExitCode ExitCodeOf(const absl::Status& error, RunEnd end, bool begun) {
  if (!error.ok()) {
    switch (error.code()) {
      case absl::StatusCode::kInvalidArgument:
      case absl::StatusCode::kNotFound:
        return ExitCode::kUsage;
      default:
        return begun ? ExitCode::kIncomplete : ExitCode::kInternalError;
    }
  }
  switch (end) {
    case RunEnd::kComplete:
    case RunEnd::kDuration:
      return ExitCode::kDone;
    case RunEnd::kInterrupted:
      return ExitCode::kInterrupted;
    case RunEnd::kIncomplete:
      return ExitCode::kIncomplete;
  }
  return ExitCode::kInternalError;
}

}  // namespace fetchbench::coordinator
