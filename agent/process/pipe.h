#pragma once

#include "absl/status/statusor.h"
#include "common/fd.h"

namespace fetchbench::agent {

// Both ends of a pipe, close-on-exec and blocking.
struct Pipe {
  Fd read;
  Fd write;
};
absl::StatusOr<Pipe> MakePipe();

// Our ends of a target's standard streams, non-blocking.
struct OurEnds {
  Fd input;   // its standard input
  Fd output;  // its standard output
  Fd errors;  // its standard error
};

// The pipes of a target's standard streams.
struct StandardPipes {
  Pipe input;
  Pipe output;
  Pipe errors;

  // Leaves the target's ends.
  OurEnds TakeOurs();
};
absl::StatusOr<StandardPipes> MakeStandardPipes();

}  // namespace fetchbench::agent
