#pragma once

#include <sys/types.h>

#include <vector>

#include "absl/status/statusor.h"
#include "agent/process/pipe.h"
#include "agent/target_process.h"

namespace fetchbench::agent {

// A started child and our ends of its pipes.
struct Child {
  pid_t pid = -1;
  OurEnds pipes;
  Fd exit;  // pidfd: readable when it has ended; invalid on kernels without
};

// Starts `command` in a process group of its own, pinned to `cpus` (empty: no change), with default
// signals and with no descriptors but its three pipes and the CA file. It is killed when the
// calling thread ends. The error says what could not be done; then there is no child.
absl::StatusOr<Child> ForkExec(const TargetCommand& command, const std::vector<int>& cpus);

}  // namespace fetchbench::agent
