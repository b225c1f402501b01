#pragma once

#include <string>
#include <vector>

#include "coordinator/ui/progress_model.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// One line for each agent under a header line, in at most `rows` lines of at most `columns`. In the
// order given when all fit; else troubled agents first, then the slowest, and one line that sums up
// the rest. Columns that do not fit are left out, the least telling first. Pure.
std::vector<std::string> RenderAgents(const std::vector<AgentProgress>& agents, int rows,
                                      int columns, const TextStyle& style);

// "48 running, 2 lost"
std::string CountStates(const std::vector<AgentProgress>& agents);

}  // namespace fetchbench::coordinator
