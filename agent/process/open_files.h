#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "common/clock.h"

namespace fetchbench::agent {

struct OpenFiles {
  uint32_t files = 0;
  uint32_t sockets = 0;  // of them
};

// Reads /proc once; processes that are gone or hidden count as none.
OpenFiles ReadOpenFiles(const std::vector<pid_t>& pids);

// The same, now and then: each open file costs a system call, and a target may hold 20,000. Answers
// what it saw last until so much time has passed that looking costs at most one percent.
class OpenFileCounter {
 public:
  OpenFiles Count(const std::vector<pid_t>& pids, SteadyTime now);

 private:
  OpenFiles last_;
  SteadyTime next_{};
};

}  // namespace fetchbench::agent
