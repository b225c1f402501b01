#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "agent/listen_address.h"
#include "common/fd.h"

namespace fetchbench::agent {

// Sockets that listen on `address`: one for each address that its host has, one for both families
// where it is a wildcard. A port that was left to the system is in `address` afterwards, and all
// sockets have it. A Unix socket that nobody listens on any more is replaced (PrepareSocketFolder
// looks). Non-blocking and close-on-exec; an accepted connection inherits what is set for TCP.
// InvalidArgument: there is no such host; Unavailable: why the system refuses.
absl::StatusOr<std::vector<Fd>> OpenListeners(ListenAddress& address);

}  // namespace fetchbench::agent
