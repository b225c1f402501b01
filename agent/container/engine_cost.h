#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fetchbench::agent {

// The CPU time that the Docker daemon, containerd and a container's shim use between two moments,
// from /proc: what measuring in a container costs beside the target. Other containers that these
// daemons look after meanwhile are in it too.
class EngineCost {
 public:
  // `engine_pid`: who listens on the Engine's socket; -1: unknown. Looks through /proc once.
  static EngineCost Begin(pid_t engine_pid);

  // Once the container runs: its shim is found by its id. Looks through /proc once.
  void AddShim(const std::string& container_id);

  // From here on: what making and starting the container took is forgotten.
  void Restart();

  // Since Begin or Restart; what has ended counts with what was seen of it last.
  uint64_t CpuUs();

 private:
  struct Seen {
    uint64_t before_us = 0;
    uint64_t last_us = 0;
  };
  std::map<pid_t, Seen> processes_;
};

}  // namespace fetchbench::agent
