#pragma once

#include <unistd.h>

#include <utility>

#include "absl/status/statusor.h"

namespace fetchbench::agent {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

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
