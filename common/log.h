#pragma once

#include <string>

#include "absl/status/status.h"

namespace fetchbench {

// Sends spdlog's default logger to stderr, one line an event: time, program, level, text. `level`
// is one of trace, debug, info, warn, error, off; InvalidArgument for any other.
absl::Status SetUpLog(const std::string& program, const std::string& level);

}  // namespace fetchbench
