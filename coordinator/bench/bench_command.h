#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/targets/target_registry.h"

namespace fetchbench::coordinator {

// What takes part: of the settings file and the names. NotFound and InvalidArgument say what is
// wrong with which.
absl::StatusOr<std::vector<TargetInfo>> ChooseBenchTargets(const BenchOptions& options,
                                                           const TargetRegistry& registry);

// Whether each run can read the list from its beginning. NotFound and InvalidArgument say why not.
absl::Status CheckBenchList(const std::string& path);

// `coordinator bench`: runs targets in turns and prints their table on standard output; progress on
// standard error. Table, markdown, CSV and JSON go to out/bench-<time>/, which out/bench-latest
// points at. Exit 3 when a target failed, 130 when interrupted (what was counted is printed,
// labelled partial). On the program's main thread (RunOnce).
ExitCode Bench(const BenchOptions& options, const TargetRegistry& registry);

}  // namespace fetchbench::coordinator
