#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// The folder of the running program, where its siblings are.
std::string ProgramFolder();

// A sibling program started by this one, that says on one line of its standard output when it is
// ready. Its standard error is a log, whose lines join ours; its standard input is empty. It dies
// with the thread that started it (PR_SET_PDEATHSIG), and with this object. One thread.
class ChildProcess {
 public:
  // Runs `arguments` (the first is the program's path), on `cpus` unless empty.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& arguments,
                                            const std::vector<int>& cpus);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  // kills it if it still runs

  // The first line of its output, once it is there; empty until then. Fails when the process ends
  // first. Does not block.
  absl::StatusOr<std::optional<std::string>> PollReadiness();

  // Hands on what it has logged. Every other call does too; a child whose log nobody takes for long
  // would wait. Does not block.
  void PassOnLog();

  // How it ended, in words ("exit code 1", "signal 9"), if it has. Does not block.
  std::optional<std::string> Ended();

  // SIGTERM, then SIGKILL when it has not ended within `limit`. Blocks that long at most.
  void Stop(std::chrono::milliseconds limit);

  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }

 private:
  ChildProcess(pid_t pid, int output, int log, std::string name);
  void PassOnLines();

  pid_t pid_ = -1;
  int output_ = -1;
  int log_ = -1;
  std::string name_;
  std::string line_;      // of its output, so far
  std::string log_text_;  // what is no whole line yet
  std::optional<std::string> ended_;
};

}  // namespace fetchbench::coordinator
