#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/summary/summary.h"
#include "coordinator/ui/text_style.h"

// The boxes under the main table of the pretty report, each as lines of text. Pure.
namespace fetchbench::coordinator {

using Lines = std::vector<std::string>;

// Durations by class; and how far beyond the timeout the timed-out ones went.
Lines DurationsBox(const Measured& m, const TextStyle& style);

// How often each outcome and status class came, the most frequent first, with its share.
Lines OutcomesBox(const Measured& m, const TextStyle& style);

// What the target reports beside what the origin saw; empty without an origin.
Lines OriginBox(const Summary& s, const TextStyle& style);

// One row for each agent, at most kMaxAgentRows: troubled ones first, then the slowest. Columns
// that do not fit are left out, from the right.
inline constexpr size_t kMaxAgentRows = 16;
Lines AgentsBox(const std::vector<AgentSummary>& agents, const TextStyle& style);

}  // namespace fetchbench::coordinator
