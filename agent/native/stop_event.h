#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace fetchbench::native {

// A descriptor that becomes readable once and stays so: wakes poll() in another thread.
// Thread-safe.
class StopEvent {
 public:
  StopEvent() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~StopEvent() { close(fd_); }
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  void Set() {
    const uint64_t one = 1;
    // Fails only when it is set already.
    [[maybe_unused]] const ssize_t n = write(fd_, &one, sizeof(one));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace fetchbench::native
