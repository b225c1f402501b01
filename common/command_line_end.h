#pragma once

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string_view>

#include "common/standard_streams.h"

namespace fetchbench {

// What main() of `program` returns for a command line that `app` could not go on with: 0 for what
// was asked for (--help, --version) and is printed, kCannotPrint where it could not be;
// `usage_error` for one that is wrong, with the complaint on standard error.
inline int EndOfCommandLine(std::string_view program, const CLI::App& app,
                            const CLI::ParseError& end, int usage_error) {
  std::ostringstream asked_for;
  std::ostringstream complaint;
  if (app.exit(end, asked_for, complaint) == 0) return PrintOutput(program, asked_for.str());
  WriteText(STDERR_FILENO, complaint.str()).IgnoreError();
  return usage_error;
}

}  // namespace fetchbench
