#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/net.h"

namespace fetchbench::agent {

// What a target has cost, from the kernel's books.
struct TargetUsage {
  uint64_t user_us = 0;
  uint64_t system_us = 0;
  uint64_t rss_bytes = 0;  // now; 0 after its end
  uint64_t peak_rss_bytes = 0;
  uint32_t open_files = 0;     // now
  uint32_t open_sockets = 0;   // of the open files
  uint64_t engine_cpu_us = 0;  // what running it costs beside: Docker daemon, containerd and shim
};

struct TargetExit {
  int code = 0;  // exit status, or -N: ended by signal N
  TargetUsage usage;
  std::string stderr_tail;
  std::string note;  // what else is known of why it ended
};

// "ended with exit code 3", "was killed by signal 9 (Killed): out of memory".
std::string DescribeExit(const TargetExit& exit);

// What a target tells its owner. All calls on the owner's loop, none from within a TargetProcess
// method.
class TargetSink {
 public:
  virtual ~TargetSink() = default;
  // Bytes of its standard output, in any pieces. Output is always read, so that a target never
  // waits for us.
  virtual void OnOutput(std::string_view bytes) = 0;
  // All that was fed is in the pipe: there is room for more.
  virtual void OnWritable() = 0;
  // Once, after the last output.
  virtual void OnExit(const TargetExit& exit) = 0;
};

// How to start a target.
struct TargetCommand {
  // argv[0] is a child's program; a container has its own, and gets the rest.
  std::vector<std::string> argv;
  std::vector<std::string> environ;  // "NAME=value", complete
  std::vector<int> cpus;             // to pin to; empty: the daemon's own mask at its start
  std::string ca_pem;                // readable for the target as kCaFilePath; empty: none
};

// Where a child process finds TargetCommand::ca_pem: an inherited memory file, so that there is
// nothing to remove, however daemon and target end.
inline constexpr std::string_view kCaFilePath = "/proc/self/fd/3";

// One target that is running, as a child process or a container. All methods on the loop; none
// blocks.
class TargetProcess {
 public:
  virtual ~TargetProcess() = default;

  // Starts it; `sink` must live until OnExit or until this object is destroyed, which must not
  // happen before this returns. An error (not found, not executable) means that nothing runs and no
  // OnExit comes. Output may come before this returns.
  virtual Task<absl::Status> Start(TargetCommand command, TargetSink& sink) = 0;

  // Writes to its standard input in the background. Only when writable().
  virtual void Feed(std::string bytes) = 0;
  virtual bool writable() const = 0;
  // End of file on its standard input, after what was fed.
  virtual void CloseInput() = 0;

  virtual void Terminate() = 0;  // SIGTERM
  virtual void Kill() = 0;       // SIGKILL, its descendants too

  virtual TargetUsage Usage() = 0;
  // Where the figures of Usage come from, and what the peak includes. After Start.
  virtual std::string CostBasis() const = 0;
};

}  // namespace fetchbench::agent
