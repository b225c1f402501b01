#pragma once

#include <string>

#include "coordinator/targets/target_registry.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// What `coordinator targets` prints: a box where the lines are wide enough, else plain columns.
// Pure.
std::string TargetsText(const TargetRegistry& registry, const TextStyle& style);

}  // namespace fetchbench::coordinator
