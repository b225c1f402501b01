#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/net.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/summary/summary.h"
#include "coordinator/web/origin_client.h"

namespace fetchbench::coordinator {

// How a run shows itself, and who else looks on; for commands that make several.
struct RunPresentation {
  bool quiet = false;      // neither records nor a summary on standard output
  std::string title_note;  // behind the display's title: "round 2 of 3"
  // When the last record is committed and the simulated web is still there; null: there is none.
  // The children end after it returns. Not called for a run that was interrupted or never began.
  std::function<Task<>(OriginClient* origin, std::string run_folder)> before_web_ends;
};

struct RunResult {
  ExitCode code = ExitCode::kInternalError;  // as `coordinator run` exits
  absl::Status error;                        // why it failed; said on the display too
  std::optional<Summary> summary;            // empty: nothing was run
  std::string folder;                        // "out/<run-id>"; empty: there is none
};

// One whole run, with its live display on standard error, through which logs go too. Blocks; on the
// program's main thread, because children die with the thread that started them. The calling
// thread's CPUs are what they were before. A second Ctrl-C ends the process.
RunResult RunOnce(const RunOptions& options, RunPresentation presentation = {});

// Goes on with a run of an earlier coordinator that was killed, interrupted or stopped; the same
// way. What keeps it from that is said on standard error.
RunResult ResumeOnce(const ResumeOptions& options, const TargetRegistry& targets);

// RunOnce, or a fake: for what makes several runs.
using RunOne = std::function<RunResult(const RunOptions&, RunPresentation)>;

}  // namespace fetchbench::coordinator
