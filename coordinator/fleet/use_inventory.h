#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "coordinator/cli/options.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// Makes agents of the inventory that options name, for the commands that take one; for `agents` and
// `cancel` also of the default one, and where there is none, of an agent on this machine. Reads
// files. `report` gets each line that was skipped, and their count.
//
// InvalidArgument, NotFound: the inventory cannot be used, or not with the other options.
absl::Status UseInventory(Options& options, const Environment& env,
                          const std::function<void(const std::string&)>& report);

}  // namespace fetchbench::coordinator
