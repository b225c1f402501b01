#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/settings.h"

namespace fetchbench::coordinator {

// Manual pages as text of 80 columns. Pure.
std::string ProgramManual();
std::string RunManual(const std::vector<Setting>& settings);
std::string CommandManual(const std::string& command, const std::vector<Setting>& settings);

// Subcommands, in the order of the manual.
const std::vector<std::string>& CommandNames();

}  // namespace fetchbench::coordinator
