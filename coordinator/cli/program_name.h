#pragma once

#include <string>

#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// What a person types to start this program, for advice such as "coordinator resume RUN": the
// scripts of bin/ say it in FETCHBENCH_PROGRAM_NAME, as they were called themselves. A shell's
// word.
std::string ProgramName(const Environment& env = ProcessEnvironment());

// A page with that name before each command, in place of `coordinator`. Pure.
std::string UnderName(std::string page, const std::string& name);

}  // namespace fetchbench::coordinator
