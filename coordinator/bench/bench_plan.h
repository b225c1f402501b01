#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/targets/target_registry.h"

namespace fetchbench::coordinator {

// A line of settings.json, as the original benchmark has it.
struct BenchSetting {
  std::string name;          // of a target, or an alias
  uint32_t concurrency = 0;  // 0: the target's own
};

// A JSON array of {"name", "concurrency"}; other members of the original's (language, method) are
// the target's to say and are passed over. InvalidArgument names entry and member. Pure.
absl::StatusOr<std::vector<BenchSetting>> ParseBenchSettings(std::string_view text);

// What takes part: the targets of `names`, or all of the settings when there are none. A name that
// no setting has runs with its own concurrency; `concurrency` (0: not given) wins over both.
// InvalidArgument: a name that is no target, with a suggestion.
absl::StatusOr<std::vector<TargetInfo>> BenchTargets(const std::vector<BenchSetting>& settings,
                                                     const std::vector<std::string>& names,
                                                     uint32_t concurrency,
                                                     const TargetRegistry& registry);

// One run of the benchmark.
struct BenchStep {
  size_t target = 0;   // index
  uint32_t round = 0;  // 0: the warm-up, which counts for nothing
};

// A warm-up of each target in its order, then `rounds` rounds, each in an order of its own that
// `seed` decides, so that whatever drifts on the machine meets every target alike. Pure; the same
// everywhere for one seed.
std::vector<BenchStep> PlanSteps(size_t targets, uint32_t rounds, uint64_t seed);

}  // namespace fetchbench::coordinator
