#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/targets/target.h"

namespace fetchbench::coordinator {

// Target.json taken apart. `problems` holds a line for each thing that is wrong, "FIELD: what"; the
// target is usable only when there is none.
struct ParsedTarget {
  TargetInfo target;
  std::vector<std::string> problems;
};

// `name` is the folder below lib/, which the file must name too. Its `folder` stays empty. Pure.
ParsedTarget ParseTarget(std::string_view text, std::string_view name);

}  // namespace fetchbench::coordinator
