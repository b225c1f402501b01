#include "coordinator/cli/targets.h"

#include <fmt/format.h>

namespace fetchbench::coordinator {

const std::vector<TargetInfo>& KnownTargets() {
  static const std::vector<TargetInfo> targets{{"native", "C++", "Beast"}};
  return targets;
}

std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const TargetInfo& target : KnownTargets()) names.push_back(target.name);
  return names;
}

const TargetInfo* FindTarget(std::string_view name) {
  for (const TargetInfo& target : KnownTargets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

std::string TargetsText() {
  std::string text;
  for (const TargetInfo& target : KnownTargets()) {
    text += fmt::format("{:<12} {:<8} {}\n", target.name, target.language, target.method);
  }
  return text;
}

}  // namespace fetchbench::coordinator
