#pragma once

#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"

namespace fetchbench::coordinator {

// `coordinator agents`: asks every agent what it is, in parallel, and prints a table (lines where
// standard output is no terminal; JSON when asked for). kUsage: one is of another version, and how
// that is mended is said on standard error. kIncomplete: one could not be reached.
ExitCode ListAgents(const Options& options);

// `coordinator cancel`: takes over the run that each agent is busy with and ends it. kIncomplete
// when one could not be reached or freed.
ExitCode CancelRuns(const Options& options);

}  // namespace fetchbench::coordinator
