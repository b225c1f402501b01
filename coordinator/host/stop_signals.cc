#include "coordinator/host/stop_signals.h"

#include <signal.h>

namespace fetchbench::coordinator {

StopSignals::StopSignals(net::io_context& loop) : signals_(loop, SIGINT, SIGTERM) {
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) {
    boost::system::error_code ignored;
    signals_.add(SIGHUP, ignored);
  }
}

Task<> StopSignals::Watch(std::function<void()> first, std::function<void()> again) {
  bool stopping = false;
  while (!over_) {
    auto [error, number] = co_await signals_.async_wait(kAsTuple);
    if (error || over_) co_return;
    // A hang-up may come twice, from the shell and from the kernel.
    if (stopping && number == SIGHUP) continue;
    (stopping ? again : first)();
    stopping = true;
  }
}

void StopSignals::Cancel() {
  over_ = true;
  signals_.cancel();
}

void StopSignals::Release() { signals_.clear(); }

}  // namespace fetchbench::coordinator
