#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/cli/options.h"
#include "coordinator/targets/target_registry.h"

namespace fetchbench::coordinator {

// Whether a command runs targets in containers on this host, so that a Docker Engine has to be
// there first. The scripts of bin/ ask (`fetchbench-coordinator needs-engine ARGUMENT...`) before
// they start the command itself: they can install and start one, this program cannot. What is wrong
// with the arguments it says as the command would: bin/trigger-benchmark asks for that.
enum class EngineNeed {
  kNone,
  kOptional,  // targets that nobody named: without an engine they are listed as not run
  kRequired,
};

// Reads the settings of a benchmark; none for one whose settings or names are wrong.
EngineNeed NeedOfEngine(const Options& options, const TargetRegistry& targets);

// "yes", "maybe" or "no", and a newline. Errors, of a benchmark: its settings, names or list are
// wrong.
absl::StatusOr<std::string> AnswerEngineQuestion(const Options& options,
                                                 const TargetRegistry& targets);

}  // namespace fetchbench::coordinator
