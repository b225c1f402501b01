#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"

namespace fetchbench::coordinator {

// `coordinator verify`: every target against every named behaviour; the matrix on standard output,
// progress on standard error. Exit 4 on FAIL or a stale deviation, 3 when a target that was named
// could not be run, 130 when interrupted (the matrix then holds the targets that were done, and
// says that it is partial). On the program's main thread (RunOnce).
ExitCode Verify(const VerifyOptions& options);

// data/behaviours.json of the source tree, or FETCHBENCH_BEHAVIOURS.
std::string BehavioursFile(const Environment& env);

}  // namespace fetchbench::coordinator
