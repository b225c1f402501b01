#pragma once

#include "agent/native/options.h"

namespace fetchbench::native {

// Fetches what standard input lists and prints the records; returns the exit code. To be called
// once, by main, before any other thread exists: it blocks SIGINT and SIGTERM for all of them.
int RunTarget(const Options& options);

}  // namespace fetchbench::native
