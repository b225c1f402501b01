#pragma once

#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"

namespace fetchbench::coordinator {

// `coordinator import-urls`: CSV on a file or standard input -> URLs on standard output. Streams.
ExitCode ImportUrls(const ImportOptions& options);

}  // namespace fetchbench::coordinator
