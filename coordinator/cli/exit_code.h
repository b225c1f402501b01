#pragma once

namespace fetchbench::coordinator {

// What this program exits with; the same in every command of the project.
enum class ExitCode : int {
  kDone = 0,  // also a run that reached its DURATION, or was disturbed and still completed
  kInternalError = 1,
  kUsage = 2,
  kIncomplete = 3,     // agents lost for good, or the target crashed
  kCheckFailed = 4,    // `verify`: a FAIL, or a deviation that does not happen any more
  kInterrupted = 130,  // by the user; partial results are kept
  // Who read the records had enough, and the run was ended; as a shell says of a program that
  // SIGPIPE ends.
  kNobodyReads = 141,
};

}  // namespace fetchbench::coordinator
