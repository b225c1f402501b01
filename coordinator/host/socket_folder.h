#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// A folder of mode 0700 for the socket of what is started here, the agent or the origin in its
// container; the caller removes it. Its path is short, since a socket's may have 107 bytes, so a
// file in it names this process: folders whose processes are gone (killed, or the machine went
// down) are removed first.
absl::StatusOr<std::string> MakeSocketFolder();

}  // namespace fetchbench::coordinator
