#pragma once

#include <sys/types.h>

#include <vector>

#include "absl/status/statusor.h"
#include "agent/target_process.h"

namespace fetchbench::agent {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// A started child and our ends of its pipes (non-blocking, close-on-exec).
struct Child {
  pid_t pid = -1;
  Fd input;   // its standard input
  Fd output;  // its standard output
  Fd errors;  // its standard error
  Fd exit;    // pidfd: readable when it has ended; invalid on kernels without
};

// Starts `command` in a process group of its own, pinned to `cpus` (empty: no change), with default
// signals and with no descriptors but its three pipes and the CA file. It is killed when the
// calling thread ends. The error says what could not be done; then there is no child.
absl::StatusOr<Child> ForkExec(const TargetCommand& command, const std::vector<int>& cpus);

}  // namespace fetchbench::agent
