#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/run_engine.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"
#include "coordinator/ui/rate_meter.h"

namespace fetchbench::coordinator {

// What the live display shows of a run at one moment. On the control loop.
class ProgressView {
 public:
  // `since`: when URLs began to flow; empty: not yet. `preparing`: rows of the agents before they
  // run.
  ProgressSnapshot Take(RunEngine& engine, const RunOptions& options, SteadyTime now,
                        std::optional<SteadyTime> since,
                        const std::vector<AgentProgress>& preparing);

 private:
  uint64_t known_ = 0;  // committed by earlier sessions
  RateMeter record_rate_;
  RateMeter byte_rate_;
};

// Names what befell agents, in this session of the run and in those before it was resumed, and how
// many URLs moved; empty: nothing did. Pure.
std::string DegradedInWords(const std::vector<Disturbance>& now,
                            const std::vector<Disturbance>& earlier);

// What is said of a run that is gone on with, and of one with several agents. Pure.
std::string ResumingInWords(const std::string& run_id, uint64_t recorded, uint64_t urls,
                            uint64_t cut_short);
std::string ConcurrencyInWords(uint32_t each, size_t agents);

// `begun`: targets were being prepared at least, or would have been, had the origin answered.
ExitCode ExitCodeOf(const absl::Status& error, RunEnd end, bool begun);

}  // namespace fetchbench::coordinator
