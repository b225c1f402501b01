#include "agent/container/container_exit.h"

#include <fmt/format.h>
#include <signal.h>

namespace fetchbench::agent {

int TargetExitCode(int container_code) {
  constexpr int kBySignal = 128;
  switch (container_code - kBySignal) {
    case SIGKILL:
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGSYS:
    case SIGTRAP:
      return kBySignal - container_code;
    default:
      return container_code;
  }
}

std::string ExitNote(const docker::ContainerInfo& info, uint64_t memory_bytes) {
  if (info.oom_killed) {
    return fmt::format("out of memory, its limit is {} MiB", memory_bytes >> 20);
  }
  return info.error;
}

}  // namespace fetchbench::agent
