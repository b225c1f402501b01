#pragma once

#include <boost/asio/co_spawn.hpp>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "common/net.h"
#include "common/wakeup.h"

namespace fetchbench {

// Runs all tasks at once on `loop` and returns when the last has ended, by an exception too. What
// they came to, they put where their caller finds it.
inline Task<> AllOf(net::any_io_executor loop, std::vector<Task<>> tasks) {
  size_t open = tasks.size();
  Wakeup done(loop);
  for (Task<>& task : tasks) {
    net::co_spawn(loop, std::move(task), [&open, &done](const std::exception_ptr&) {
      --open;
      done.Notify();
    });
  }
  while (open > 0) co_await done.WaitUntil();
}

}  // namespace fetchbench
