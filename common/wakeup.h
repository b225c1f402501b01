#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "common/clock.h"
#include "common/net.h"

namespace fetchbench {

// One coroutine waits, anybody on the same loop wakes it. A Notify that comes before the wait is
// kept, so no wake-up is lost. All calls on one loop; must outlive the wait (hold its owner by
// shared_ptr).
class Wakeup {
 public:
  explicit Wakeup(const net::any_io_executor& loop) : timer_(loop) {}

  void Notify() {
    notified_ = true;
    timer_.cancel();
  }

  // True: notified since the wait before. False: the deadline passed first.
  Task<bool> WaitUntil(SteadyTime deadline = SteadyTime::max()) {
    if (!notified_) {
      timer_.expires_at(deadline);
      co_await timer_.async_wait(kAsTuple);
    }
    co_return std::exchange(notified_, false);
  }

 private:
  net::steady_timer timer_;
  bool notified_ = false;
};

}  // namespace fetchbench
