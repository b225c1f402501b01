#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/options.h"
#include "coordinator/targets/target_registry.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// Whether a command runs targets in containers on this host, so that a Docker Engine has to be
// there first. The scripts of bin/ ask (`fetchbench-coordinator needs-engine ARGUMENT...`) before
// they start the command itself: they can install and start one, this program cannot.
enum class EngineNeed {
  kNone,
  kOptional,  // targets that nobody named: without an engine they are listed as not run
  kRequired,
};

// Reads the settings of a benchmark; none for one whose settings or names are wrong.
EngineNeed NeedOfEngine(const Options& options, const TargetRegistry& targets);

// "yes", "maybe" or "no", and a newline. A command line that cannot be understood needs none: the
// command itself will say what is wrong.
std::string AnswerEngineQuestion(const std::vector<std::string>& arguments, const Environment& env,
                                 const TargetRegistry& targets);

}  // namespace fetchbench::coordinator
