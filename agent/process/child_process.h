#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/process/fork_exec.h"
#include "agent/target_process.h"
#include "common/net.h"
#include "common/wakeup.h"

namespace fetchbench::agent {

// A target as a child process. Destroying it kills the child, and its sink hears nothing more; the
// child is reaped in the background.
class ChildProcess final : public TargetProcess {
 public:
  // `cpus`: where a command goes that names none.
  ChildProcess(net::any_io_executor loop, std::vector<int> cpus);
  ~ChildProcess() override;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Task<absl::Status> Start(TargetCommand command, TargetSink& sink) override;
  void Feed(std::string bytes) override;
  bool writable() const override;
  void CloseInput() override;
  void Terminate() override;
  void Kill() override;
  TargetUsage Usage() override;
  std::string CostBasis() const override;

  pid_t pid() const;  // -1 before Start

 private:
  class Running;

  net::any_io_executor loop_;
  std::vector<int> cpus_;
  std::shared_ptr<Running> running_;
};

}  // namespace fetchbench::agent
