#pragma once

#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <string>
#include <utility>

#include "common/net.h"

namespace fetchbench {

// Runs a coroutine on its own. None of ours throws: an exception that arrives here is a bug or
// memory that ran out, and is logged under the coroutine's name.
template <typename Executor>
void Spawn(const Executor& executor, std::string name, Task<> task) {
  net::co_spawn(executor, std::move(task), [name = std::move(name)](std::exception_ptr error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      spdlog::error("{} ended by an exception: {}", name, e.what());
    }
  });
}

}  // namespace fetchbench
