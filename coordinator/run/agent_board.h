#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"
#include "coordinator/ui/rate_meter.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// What befell the agents of a run, summed up.
struct AgentTroubles {
  int64_t stalled_us = 0;
  uint64_t reconnects = 0;
};

// What is known of each agent of a run, for the display and the summary. Pure bookkeeping: told
// what happened, asked for rows. Belongs to the control loop.
class AgentBoard {
 public:
  // `boot_id`: of this host (BootId()). An agent that tells the same one has our clock.
  AgentBoard(const std::vector<std::string>& names, std::string boot_id, uint32_t concurrency);

  // True: since it was here last it hung up on everybody because of its memory, which is its
  // trouble then.
  bool Started(AgentIndex agent, const v1::Started& started, int64_t wall_us);
  void Progress(AgentIndex agent, const v1::Progress& progress, SteadyTime now, int64_t wall_us);
  void Records(AgentIndex agent, uint64_t count);
  // It is heard, has URLs, and gave no record for so long; 0: nothing to say.
  void NoRecordFor(AgentIndex agent, SteadyTime::duration silence) {
    agents_[agent].no_record_for = silence;
  }
  void Away(AgentIndex agent, const absl::Status& why);
  void Lost(AgentIndex agent, const std::string& why);
  // `last`: its last word, or empty when there was none.
  void Failed(AgentIndex agent, const absl::Status& why, const v1::Failed& last);
  void Finished(AgentIndex agent, const v1::Finished& finished);

  size_t size() const { return agents_.size(); }
  AgentState state(AgentIndex agent) const { return agents_[agent].state; }
  bool ever_started(AgentIndex agent) const { return agents_[agent].started.has_value(); }
  SteadyTime::duration no_record_for(AgentIndex agent) const {
    return agents_[agent].no_record_for;
  }
  const std::string& name(AgentIndex agent) const { return agents_[agent].name; }
  const std::string& trouble(AgentIndex agent) const { return agents_[agent].summary.trouble; }
  // Why it gave the run up; OK: it did not.
  const absl::Status& failure(AgentIndex agent) const { return agents_[agent].failure; }
  const v1::Started* started(AgentIndex agent) const {
    return agents_[agent].started ? &*agents_[agent].started : nullptr;
  }
  // Of the first agent that told; null before.
  const v1::Started* AnyStarted() const;
  // Its clock minus ours, as far as is known by now.
  int64_t clock_offset_us(AgentIndex agent) const { return agents_[agent].summary.clock_offset_us; }
  uint64_t InFlight() const;
  // "a:7311: connection refused; b:7311: no answer": the last trouble of each agent.
  std::string TroublesInWords() const;

  std::vector<AgentProgress> Rows(SteadyTime now);
  const AgentSummary& summary(AgentIndex agent) const { return agents_[agent].summary; }
  std::vector<AgentSummary> Summaries() const;
  AgentTroubles TotalTroubles() const;
  Cost TotalCost() const;  // without coordinator_cpu_us

 private:
  struct Agent {
    std::string name;
    bool same_clock = false;
    AgentState state = AgentState::kConnecting;
    std::optional<v1::Started> started;
    v1::Progress last;
    SteadyTime last_at;
    RateMeter rate;
    std::optional<double> cpu_fraction;
    uint64_t records = 0;
    SteadyTime::duration no_record_for{};
    double steal_sum = 0;
    uint64_t reports = 0;
    bool clock_told = false;
    absl::Status failure;
    std::string cause;  // why it went away last; what kept it from coming back at once is no cause
    AgentSummary summary;
    AgentSummary past;  // what earlier lives of the agent had used: a restarted one begins at 0
  };

  static void SetClockOffset(Agent& agent, int64_t its_us, int64_t wall_us);
  static void SetCpuFraction(Agent& agent, const v1::Progress& progress, SteadyTime now);
  // `report` is cumulative in the agent's present life: Progress or Finished.
  template <typename Report>
  static void SetUsage(Agent& agent, const Report& report);

  const std::string boot_id_;
  uint32_t concurrency_;
  std::vector<Agent> agents_;
};

}  // namespace fetchbench::coordinator
