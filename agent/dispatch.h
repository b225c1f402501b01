#pragma once

#include "agent/run_executor.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// What a coordinator's message on an attached stream, after its Start, does to the run. What breaks
// the protocol ends the run.
void Dispatch(RunExecutor& executor, v1::CoordinatorMessage& message);

}  // namespace fetchbench::agent
