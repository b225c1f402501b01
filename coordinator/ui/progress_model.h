#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/summary/summary.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// Ordered by how much attention an agent needs: troubled ones are shown first.
enum class AgentState { kLost, kReconnecting, kFailed, kConnecting, kPreparing, kRunning, kDone };

// "lost", "reconnecting" ...
const char* AgentStateName(AgentState state);

struct AgentProgress {
  std::string name;
  AgentState state = AgentState::kConnecting;
  uint32_t in_flight = 0;
  uint32_t concurrency = 0;
  uint64_t done = 0;
  double rate = 0;  // records a second, now
  std::optional<double>
      cpu_fraction;                   // the target's, of one CPU, now; may exceed 1; empty: unknown
  std::optional<uint64_t> rss_bytes;  // the target's, now
  std::string note;  // what is wrong, or what is being prepared; any text, may come from outside
};

// One moment of a run, as shown. Plain data; the control loop fills it.
struct ProgressSnapshot {
  std::string title;              // "native, sim:published, seed 1": first line
  std::string phase;              // "preparing", "running", "stopping (Ctrl-C again: at once)" ...
  std::optional<uint64_t> total;  // empty: the list is still being read
  uint64_t done = 0;
  double elapsed_s = 0;  // since the run started
  double rate_now = 0;   // records a second (RateMeter)
  double rate_overall = 0;
  std::optional<double> eta_s;  // EstimateEta(); empty: unknown
  uint64_t in_flight = 0;
  uint64_t concurrency = 0;  // total over agents
  StatusClasses classes;
  OutcomeCounts outcomes{};
  int64_t p50_us = 0;
  int64_t p90_us = 0;
  int64_t p99_us = 0;
  uint64_t bytes = 0;
  double bytes_per_s = 0;
  std::vector<AgentProgress> agents;
  std::vector<std::string> notices;  // shown under the figures until they change; at most 3 lines
};

// Seconds left at the present rate; empty when done, when the total is unknown or nothing moves.
std::optional<double> EstimateEta(std::optional<uint64_t> total, uint64_t done, double rate_now,
                                  double rate_overall);

// The live display as lines of text without newlines: none is wider than style.width - 1 columns
// and there are at most style.height - 1 of them (at least one). Good for widths from 20 to 500.
// Agents that do not fit are summed up in one line: troubled ones come first, then the slowest.
// Texts from outside are made harmless. Pure.
std::vector<std::string> RenderProgress(const ProgressSnapshot& snapshot, const TextStyle& style);

// The same in one line, without colour or escape codes, for logs and pipes: about 150 columns.
std::string RenderProgressLine(const ProgressSnapshot& snapshot);

}  // namespace fetchbench::coordinator
