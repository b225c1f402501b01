#include "coordinator/cli/engine_need.h"

#include <algorithm>

#include "coordinator/bench/bench_command.h"

namespace fetchbench::coordinator {
namespace {

bool AnyContainer(const std::vector<TargetInfo>& targets) {
  return std::ranges::any_of(targets, &TargetInfo::is_container);
}

EngineNeed NeedOf(bool containers, bool named) {
  if (!containers) return EngineNeed::kNone;
  return named ? EngineNeed::kRequired : EngineNeed::kOptional;
}

}  // namespace

EngineNeed NeedOfEngine(const Options& options, const TargetRegistry& targets) {
  // Agents that were named have engines of their own.
  if (!options.run.agents.empty() || !options.inventory.empty()) return EngineNeed::kNone;
  switch (options.command) {
    case Command::kRun:
      return NeedOf(options.run.target.is_container(), true);
    case Command::kVerify:
      return NeedOf(AnyContainer(options.verify.targets), options.verify.named);
    case Command::kBench: {
      const auto chosen = ChooseBenchTargets(options.bench, targets);
      return NeedOf(chosen.ok() && AnyContainer(*chosen), !options.bench.names.empty());
    }
    default:
      return EngineNeed::kNone;
  }
}

absl::StatusOr<std::string> AnswerEngineQuestion(const Options& options,
                                                 const TargetRegistry& targets) {
  if (options.command == Command::kBench) {
    absl::Status status = ChooseBenchTargets(options.bench, targets).status();
    if (status.ok()) status = CheckBenchList(options.bench.run.urls);
    if (!status.ok()) return status;
  }
  switch (NeedOfEngine(options, targets)) {
    case EngineNeed::kRequired:
      return "yes\n";
    case EngineNeed::kOptional:
      return "maybe\n";
    case EngineNeed::kNone:
      break;
  }
  return "no\n";
}

}  // namespace fetchbench::coordinator
