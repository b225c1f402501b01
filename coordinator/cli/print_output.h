#pragma once

#include <string_view>

#include "common/standard_streams.h"
#include "coordinator/cli/exit_code.h"

namespace fetchbench::coordinator {

// For a command's end: see fetchbench::PrintOutput.
inline ExitCode PrintOutput(std::string_view text, ExitCode code = ExitCode::kDone) {
  static_assert(static_cast<int>(ExitCode::kInternalError) == kCannotPrint);
  return static_cast<ExitCode>(
      fetchbench::PrintOutput("coordinator", text, static_cast<int>(code)));
}

}  // namespace fetchbench::coordinator
