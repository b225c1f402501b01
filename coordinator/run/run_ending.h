#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/net.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/list_loader.h"
#include "coordinator/run/run_engine.h"
#include "coordinator/run/run_journal.h"
#include "coordinator/run/run_report.h"
#include "coordinator/run/run_stage.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// All that took part in a run; for what is written of it. On the control loop.
struct RunParts {
  const RunOptions& options;
  const RunIdentity& identity;
  RunEngine& engine;
  const RunStage& stage;
  const LoadedList& list;
  RunJournal& journal;
  int64_t cpu_before_us = 0;  // what this process had used when the run began
};

// CPU time of this process until now, microseconds.
int64_t ProcessCpuUs();

// What the run came to, judged.
Summary Summarise(const RunParts& parts, const EngineEnd& end, std::optional<OriginSummary> origin);

// run.json, as much as is known by now. The loop goes on while the disk is slow.
Task<absl::Status> WriteRunJson(RunParts parts);

// The files of a run that is over; the first error. Likewise.
Task<absl::Status> WriteResults(RunParts parts, const Summary& summary);

// The summary on standard output. Blocks until its reader has it; `in_a_hurry`, for a second at
// most, DeadlineExceeded then. Cancelled: it had enough. Both are no errors: summary.json has it
// all.
absl::Status PrintSummary(const Summary& summary, ReportFormat format, const TextStyle& style,
                          bool in_a_hurry);

}  // namespace fetchbench::coordinator
