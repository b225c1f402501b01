#pragma once

#include "agent/connection_book.h"
#include "agent/run_keeper.h"
#include "common/clock.h"
#include "common/metrics.h"

namespace fetchbench::agent {

// What the agent tells Prometheus: fetchbench_agent_... On the loop.
MetricsPage AgentPage(const RunKeeper& keeper, const ConnectionCounts& connections,
                      const Clock& clock);

}  // namespace fetchbench::agent
