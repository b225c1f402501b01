#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/run_once.h"
#include "coordinator/verify/behaviour_table.h"
#include "coordinator/verify/matrix.h"
#include "coordinator/verify/resource_check.h"

namespace fetchbench::coordinator {

// What all targets are checked with.
struct CheckPlan {
  std::vector<Behaviour> behaviours;
  std::vector<ResourceCheck> resources;
  bool all_rows = true;  // nothing was left out
  RunOptions run;        // all but target, list, concurrency and timeout of the resource checks
};

// Rows of the matrix, in this order: behaviours, then resources.
Matrix EmptyMatrix(const CheckPlan& plan);

// Runs one target over everything of the plan. A target that cannot be run here gives a column that
// says why; Cancelled: the user stopped it. What only a busy machine may have brought about is run
// a second time, alone, and counts only if it happens again.
absl::StatusOr<MatrixColumn> CheckTarget(const CheckPlan& plan, const TargetInfo& target,
                                         const RunOne& run_one);

// One target after the other; partial when the user stopped it. `say`: a line about each, for
// people.
Matrix CheckAll(const CheckPlan& plan, const std::vector<TargetInfo>& targets,
                const RunOne& run_one, const std::function<void(const std::string&)>& say);

}  // namespace fetchbench::coordinator
