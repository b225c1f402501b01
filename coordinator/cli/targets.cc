#include "coordinator/cli/targets.h"

#include <fmt/format.h>

namespace fetchbench::coordinator {

const std::vector<TargetInfo>& KnownTargets() {
  static const std::vector<TargetInfo> targets{{"native", "C++", "Beast", 150}};
  return targets;
}

std::vector<std::string> TargetNames(const std::vector<TargetInfo>& targets) {
  std::vector<std::string> names;
  for (const TargetInfo& target : targets) names.push_back(target.name);
  return names;
}

const TargetInfo* FindTarget(const std::vector<TargetInfo>& targets, std::string_view name) {
  for (const TargetInfo& target : targets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

std::string TargetsText() {
  std::string text;
  for (const TargetInfo& target : KnownTargets()) {
    text += fmt::format("{:<12} {:<8} {:<12} concurrency {}\n", target.name, target.language,
                        target.method, target.concurrency);
  }
  return text;
}

}  // namespace fetchbench::coordinator
