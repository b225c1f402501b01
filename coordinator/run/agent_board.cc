#include "coordinator/run/agent_board.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/fleet/memory_trouble.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/host/placement.h"

namespace fetchbench::coordinator {
namespace {

// Sums of what agents tell stand still at the largest number that one of them may tell: an agent
// that tells it again and again, restarted each time, must not make them overflow, nor what is
// reckoned with them.
template <typename Sum>
Sum Plus(Sum sum, uint64_t told) {
  return static_cast<Sum>(
      std::min(static_cast<uint64_t>(sum) + std::min(told, kMaxPeerNumber), kMaxPeerNumber));
}

double FromPermille(uint32_t permille) { return static_cast<double>(permille) / 1000.0; }

}  // namespace

AgentBoard::AgentBoard(const std::vector<std::string>& names, std::string boot_id,
                       uint32_t concurrency)
    : boot_id_(std::move(boot_id)), concurrency_(concurrency), agents_(names.size()) {
  for (size_t i = 0; i < names.size(); ++i) {
    agents_[i].name = agents_[i].summary.name = names[i];
  }
}

bool AgentBoard::Started(AgentIndex agent, const v1::Started& started, int64_t wall_us) {
  Agent& a = agents_[agent];
  const v1::MemoryTrouble& trouble = started.memory_trouble();
  const bool hung_up =
      a.started && trouble.at_us() != 0 && trouble.at_us() != a.started->memory_trouble().at_us();
  if (a.started && !a.cause.empty()) a.summary.trouble = a.cause;
  if (hung_up) a.summary.trouble = MemoryTroubleText(trouble);
  if (a.started) ++a.summary.reconnects;
  if (a.started && !started.resumed()) {
    a.past = a.summary;
    a.last.Clear();
    a.clock_told = false;  // it may have been put right meanwhile
  }
  a.same_clock = !boot_id_.empty() && started.host().boot_id() == boot_id_;
  SetClockOffset(a, started.host().clock_us(), wall_us);
  a.started = started;
  a.state = AgentState::kRunning;
  a.summary.lost = false;
  a.summary.host = started.host().hostname();
  a.summary.cpu_model = started.host().cpu_model();
  std::vector<int> cpus(started.host().target_cpus().begin(), started.host().target_cpus().end());
  std::sort(cpus.begin(), cpus.end());
  a.summary.target_cpus = CpuListText(cpus);
  return hung_up;
}

// The way of a message only makes the agent's clock look late, never early, so the largest offset
// is nearest to the truth, whichever clock is ahead.
void AgentBoard::SetClockOffset(Agent& agent, int64_t its_us, int64_t wall_us) {
  if (agent.same_clock || its_us == 0) return;
  int64_t& known = agent.summary.clock_offset_us;
  known = agent.clock_told ? std::max(known, its_us - wall_us) : its_us - wall_us;
  agent.clock_told = true;
}

void AgentBoard::SetCpuFraction(Agent& agent, const v1::Progress& progress, SteadyTime now) {
  const auto cpu_us = [](const v1::Progress& p) {
    return static_cast<double>(p.target().user_us() + p.target().system_us());
  };
  const double elapsed_us = std::chrono::duration<double, std::micro>(now - agent.last_at).count();
  if (agent.reports > 0 && elapsed_us > 0) {
    agent.cpu_fraction = std::max(0.0, (cpu_us(progress) - cpu_us(agent.last)) / elapsed_us);
  }
}

template <typename Report>
void AgentBoard::SetUsage(Agent& agent, const Report& report) {
  AgentSummary& s = agent.summary;
  const AgentSummary& past = agent.past;
  const v1::TargetUsage& usage = report.target();
  s.target_user_us = Plus(past.target_user_us, usage.user_us());
  s.target_system_us = Plus(past.target_system_us, usage.system_us());
  s.peak_rss_bytes = std::max({s.peak_rss_bytes, usage.peak_rss_bytes(), usage.rss_bytes()});
  s.agent_cpu_us = Plus(past.agent_cpu_us, report.agent_cpu_us());
  s.stalled_us = Plus(past.stalled_us, report.stalled_us());
  s.surplus_lines = Plus(past.surplus_lines, report.surplus_lines());
  s.unparsable_lines = Plus(past.unparsable_lines, report.unparsable_lines());
  s.engine_cpu_us = Plus(past.engine_cpu_us, report.engine_cpu_us());
  s.open_sockets_max = std::max(s.open_sockets_max, usage.open_sockets());
}

void AgentBoard::Progress(AgentIndex agent, const v1::Progress& progress, SteadyTime now,
                          int64_t wall_us) {
  Agent& a = agents_[agent];
  AgentSummary& s = a.summary;
  SetCpuFraction(a, progress, now);
  SetUsage(a, progress);
  s.most_in_flight = std::max(s.most_in_flight, progress.in_flight());
  s.other_cpu_busy_max_fraction =
      std::max(s.other_cpu_busy_max_fraction, FromPermille(progress.other_cpu_busy_permille()));
  SetClockOffset(a, progress.clock_us(), wall_us);
  a.steal_sum += FromPermille(progress.steal_permille());
  ++a.reports;
  s.steal_fraction = a.steal_sum / static_cast<double>(a.reports);
  a.last = progress;
  a.last_at = now;
}

void AgentBoard::Records(AgentIndex agent, uint64_t count) {
  agents_[agent].records += count;
  agents_[agent].summary.records += count;
}

void AgentBoard::Away(AgentIndex agent, const absl::Status& why) {
  Agent& a = agents_[agent];
  if (a.state == AgentState::kRunning) a.cause = std::string(why.message());
  if (a.state != AgentState::kLost) {
    a.state = a.started ? AgentState::kReconnecting : AgentState::kConnecting;
  }
  a.summary.trouble = std::string(why.message());
  a.last.set_in_flight(0);
  a.cpu_fraction.reset();
}

void AgentBoard::Lost(AgentIndex agent, const std::string& why) {
  Agent& a = agents_[agent];
  a.state = AgentState::kLost;
  a.summary.lost = true;
  if (a.summary.trouble.empty()) a.summary.trouble = why;
  a.last.set_in_flight(0);
}

void AgentBoard::Failed(AgentIndex agent, const absl::Status& why, const v1::Failed& last) {
  Agent& a = agents_[agent];
  a.state = AgentState::kFailed;
  a.failure = why;
  if (last.totals().has_target()) {  // else there never was a target
    SetUsage(a, last.totals());
    a.summary.target_exit_code = last.totals().target_exit_code();
  }
  a.summary.target_stderr = last.target_stderr();
  a.summary.lost = true;
  a.summary.trouble = std::string(why.message());
  a.last.set_in_flight(0);
}

void AgentBoard::Finished(AgentIndex agent, const v1::Finished& finished) {
  Agent& a = agents_[agent];
  a.state = AgentState::kDone;
  SetUsage(a, finished);
  a.summary.target_exit_code = finished.target_exit_code();
  if (finished.target_exit_code() != 0) a.summary.target_stderr = finished.target_stderr();
  a.last.set_in_flight(0);
}

const v1::Started* AgentBoard::AnyStarted() const {
  for (const Agent& a : agents_) {
    if (a.started) return &*a.started;
  }
  return nullptr;
}

uint64_t AgentBoard::InFlight() const {
  uint64_t sum = 0;
  for (const Agent& a : agents_) sum += a.last.in_flight();
  return sum;
}

std::string AgentBoard::TroublesInWords() const {
  std::string words;
  for (const Agent& a : agents_) {
    if (!words.empty()) words += "; ";
    std::string trouble = a.summary.trouble;
    if (trouble.empty()) trouble = a.state == AgentState::kDone ? "ended early" : "no answer";
    words += fmt::format("{}: {}", a.name, trouble);
  }
  return words;
}

std::vector<AgentProgress> AgentBoard::Rows(SteadyTime now) {
  std::vector<AgentProgress> rows;
  for (Agent& a : agents_) {
    a.rate.Sample(now, a.records);
    AgentProgress row;
    row.name = a.name;
    row.state = a.state;
    row.in_flight = a.last.in_flight();
    row.concurrency = concurrency_;
    row.done = a.records;
    row.rate = a.rate.PerSecond();
    row.cpu_fraction = a.cpu_fraction;
    if (a.reports > 0) row.rss_bytes = a.last.target().rss_bytes();
    if (a.state != AgentState::kRunning && a.state != AgentState::kDone) {
      row.note = a.summary.trouble;
    } else if (a.state == AgentState::kRunning && a.no_record_for.count() > 0) {
      row.note =
          fmt::format("no record for {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(a.no_record_for).count());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<AgentSummary> AgentBoard::Summaries() const {
  std::vector<AgentSummary> summaries;
  summaries.reserve(agents_.size());
  for (const Agent& a : agents_) summaries.push_back(a.summary);
  return summaries;
}

AgentTroubles AgentBoard::TotalTroubles() const {
  AgentTroubles troubles;
  for (const Agent& a : agents_) {
    troubles.stalled_us = Plus(troubles.stalled_us, static_cast<uint64_t>(a.summary.stalled_us));
    troubles.reconnects += a.summary.reconnects;
  }
  return troubles;
}

Cost AgentBoard::TotalCost() const {
  Cost cost;
  for (const Agent& a : agents_) {
    cost.user_us = Plus(cost.user_us, static_cast<uint64_t>(a.summary.target_user_us));
    cost.system_us = Plus(cost.system_us, static_cast<uint64_t>(a.summary.target_system_us));
    cost.peak_rss_bytes_sum = Plus(cost.peak_rss_bytes_sum, a.summary.peak_rss_bytes);
    cost.peak_rss_bytes_max = std::max(cost.peak_rss_bytes_max, a.summary.peak_rss_bytes);
    cost.open_sockets_max = std::max(cost.open_sockets_max, a.summary.open_sockets_max);
    cost.agent_cpu_us = Plus(cost.agent_cpu_us, static_cast<uint64_t>(a.summary.agent_cpu_us));
    cost.engine_cpu_us = Plus(cost.engine_cpu_us, static_cast<uint64_t>(a.summary.engine_cpu_us));
    if (cost.basis.empty() && a.started) cost.basis = a.started->cost_basis();
  }
  return cost;
}

}  // namespace fetchbench::coordinator
