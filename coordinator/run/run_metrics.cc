#include "coordinator/run/run_metrics.h"

#include <sys/resource.h>

#include <utility>

#include "common/outcome.h"
#include "coordinator/host/placement.h"
#include "coordinator/run/run_ending.h"
#include "coordinator/run/run_engine.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::array kEnds{RunEnd::kComplete, RunEnd::kDuration, RunEnd::kInterrupted,
                           RunEnd::kIncomplete};
constexpr std::array kStates{AgentState::kConnecting, AgentState::kPreparing,
                             AgentState::kRunning,    AgentState::kReconnecting,
                             AgentState::kLost,       AgentState::kFailed,
                             AgentState::kDone};

double SecondsOf(int64_t us) { return static_cast<double>(us) / 1e6; }
double Number(uint64_t count) { return static_cast<double>(count); }

std::array<uint64_t, kStates.size()> CountStates(RunEngine* engine,
                                                 const std::vector<AgentProgress>& preparing) {
  std::array<uint64_t, kStates.size()> counts{};
  const auto count = [&counts](AgentState state) { ++counts[static_cast<size_t>(state)]; };
  if (engine == nullptr) return counts;
  if (!engine->connected()) {
    for (const AgentProgress& row : preparing) count(row.state);
    return counts;
  }
  const AgentBoard& board = engine->board();
  for (AgentIndex i = 0; i < board.size(); ++i) count(board.state(i));
  return counts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<RunMetrics>> RunMetrics::Start(const std::string& address) {
  const std::vector<int> cpus = AllowedCpus();
  PinThisThread(Place(cpus).others);
  auto server = MetricsServer::Start(address);
  PinThisThread(cpus);
  if (!server.ok()) return server.status();
  std::shared_ptr<RunMetrics> metrics(new RunMetrics(*std::move(server)));
  metrics->Publish(nullptr, {});
  return metrics;
}

RunMetrics::RunMetrics(std::unique_ptr<MetricsServer> server) : server_(std::move(server)) {}

void RunMetrics::Add(RunEngine& engine, Figures& to) {
  const Aggregator& aggregator = engine.aggregator();
  for (size_t i = 0; i < to.outcomes.size(); ++i) to.outcomes[i] += aggregator.outcomes()[i];
  to.durations_us.Merge(aggregator.durations_us());
  to.body_bytes += aggregator.body_bytes();
  if (const auto counts = engine.counts()) {
    to.urls_taken_back += counts->taken_back;
    to.urls_lent_again += counts->lent_again;
    to.duplicates += counts->duplicates;
  }
  if (!engine.connected()) return;
  const AgentTroubles troubles = engine.board().TotalTroubles();
  to.stalled_us += troubles.stalled_us;
  to.reconnects += troubles.reconnects;
}

void RunMetrics::AddProgram(MetricsPage& page) const {
  page.Gauge("fetchbench_coordinator_build_info", "1; the labels say what this coordinator is.", 1,
             {{"version", FETCHBENCH_VERSION}});
  page.Gauge("fetchbench_coordinator_updated_timestamp_seconds",
             "When these figures were taken; they stand still when the coordinator does, and "
             "between runs.",
             SecondsOf(clock_.WallUs()));
  for (size_t i = 0; i < kEnds.size(); ++i) {
    page.Counter("fetchbench_coordinator_runs_total", "Runs that ended, by how.", Number(ends_[i]),
                 {{"end", RunEndName(kEnds[i])}});
  }
  page.Counter("fetchbench_coordinator_setup_seconds_total",
               "Time in which agents, target and web were made ready, image builds included.",
               std::chrono::duration<double>(set_up_).count());
  page.Counter("fetchbench_coordinator_cpu_seconds_total", "CPU time of the coordinator itself.",
               SecondsOf(ProcessCpuUs()));
}

void RunMetrics::AddFigures(const Figures& figures, MetricsPage& page) {
  for (size_t i = 1; i < figures.outcomes.size(); ++i) {
    page.Counter("fetchbench_coordinator_urls_total",
                 "URLs that have their record in the run's store, by outcome.",
                 Number(figures.outcomes[i]),
                 {{"outcome", std::string(OutcomeName(static_cast<Outcome>(i)))}});
  }
  page.Seconds("fetchbench_coordinator_fetch_duration_seconds",
               "How long fetches took, as the targets measured it.", figures.durations_us);
  page.Counter("fetchbench_coordinator_body_bytes_total", "Bytes of response bodies.",
               Number(figures.body_bytes));
  page.Counter("fetchbench_coordinator_stalled_seconds_total",
               "Time in which agents started no fetch, because we took no records; of all agents.",
               SecondsOf(figures.stalled_us));
  page.Counter("fetchbench_coordinator_reconnects_total", "Times that an agent came back.",
               Number(figures.reconnects));
  page.Counter("fetchbench_coordinator_urls_taken_back_total",
               "URLs whose lease was taken back from an agent.", Number(figures.urls_taken_back));
  page.Counter("fetchbench_coordinator_urls_lent_again_total",
               "URLs that were lent once more after that.", Number(figures.urls_lent_again));
  page.Counter("fetchbench_coordinator_duplicate_records_total",
               "Records of URLs that had theirs already, dropped.", Number(figures.duplicates));
}

void RunMetrics::AddPresent(RunEngine* engine, const std::vector<AgentProgress>& preparing,
                            MetricsPage& page) {
  page.Gauge("fetchbench_coordinator_runs_active", "Runs under way: 0 or 1.",
             engine == nullptr ? 0 : 1);
  const auto counts = CountStates(engine, preparing);
  for (const AgentState state : kStates) {
    page.Gauge("fetchbench_coordinator_agents", "Agents of the run under way, by state.",
               Number(counts[static_cast<size_t>(state)]), {{"state", AgentStateName(state)}});
  }
  const bool runs = engine != nullptr && engine->connected();
  page.Gauge("fetchbench_coordinator_urls_in_flight",
             "Requests that the targets have under way, as last reported.",
             runs ? Number(engine->board().InFlight()) : 0);
  const LeaseCounts urls =
      engine == nullptr ? LeaseCounts() : engine->counts().value_or(LeaseCounts());
  const auto state = [&page](const char* name, uint64_t count) {
    page.Gauge("fetchbench_coordinator_list_urls",
               "URLs of the run under way, by where they are: not lent yet, lent to an agent, or "
               "recorded.",
               Number(count), {{"state", name}});
  };
  state("waiting", urls.in_spool + urls.waiting);
  state("lent", urls.lent);
  state("recorded", urls.recorded);
}

void RunMetrics::Publish(RunEngine* engine, const std::vector<AgentProgress>& preparing) {
  MetricsPage page;
  AddProgram(page);
  AddPresent(engine, preparing, page);
  Figures figures = past_;
  if (engine != nullptr) Add(*engine, figures);
  AddFigures(figures, page);
  server_->Publish(std::move(page));
}

void RunMetrics::Update(RunEngine& engine, const std::vector<AgentProgress>& preparing,
                        SteadyTime now) {
  if (last_ && now - *last_ < kInterval) return;
  last_ = now;
  Publish(&engine, preparing);
}

void RunMetrics::Ended(RunEngine& engine, RunEnd end) {
  Add(engine, past_);
  ++ends_[static_cast<size_t>(end)];
  last_.reset();
  Publish(nullptr, {});
}

}  // namespace fetchbench::coordinator
