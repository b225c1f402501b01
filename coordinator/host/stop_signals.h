#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

#include "common/net.h"

namespace fetchbench::coordinator {

// Whoever wants a run to stop: Ctrl-C, SIGTERM, and a terminal that hangs up, which under nohup
// means nothing. Caught as long as this object lives, or until Release. On the control loop.
class StopSignals {
 public:
  explicit StopSignals(net::io_context& loop);

  // Calls `first` at the first signal, and `again` at each other one, which may end the process:
  // nothing is waited for then. Returns after Cancel or Release. Once.
  Task<> Watch(std::function<void()> first, std::function<void()> again);
  // Watches no more; signals are still caught.
  void Cancel();
  // From here on they do what they do to any other program.
  void Release();

 private:
  net::signal_set signals_;
  bool over_ = false;
};

}  // namespace fetchbench::coordinator
