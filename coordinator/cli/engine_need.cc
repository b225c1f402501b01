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

std::string AnswerEngineQuestion(const std::vector<std::string>& arguments, const Environment& env,
                                 const TargetRegistry& targets) {
  const auto options = ParseOptions(arguments, env, targets);
  if (!options.ok()) return "no\n";
  switch (NeedOfEngine(*options, targets)) {
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
