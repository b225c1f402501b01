#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "common/fd.h"

namespace fetchbench {

// A descriptor that becomes readable once and stays so: wakes poll() in another thread.
// Thread-safe.
class StopEvent {
 public:
  StopEvent() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Set() {
    const uint64_t one = 1;
    // Fails only when it is set already.
    [[maybe_unused]] const ssize_t n = write(fd_.get(), &one, sizeof(one));
  }
  int fd() const { return fd_.get(); }

 private:
  const Fd fd_;
};

}  // namespace fetchbench
