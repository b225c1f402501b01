#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <utility>

#include "common/io_thread.h"
#include "common/net.h"

namespace fetchbench::test {

// Runs a coroutine on the loop of `thread`; the future holds its result.
template <typename T>
std::future<T> RunOn(IoThread& thread, Task<T> task) {
  return net::co_spawn(thread.executor(), std::move(task), net::use_future);
}

// A bound against a hanging test, far above what a busy machine needs.
inline constexpr std::chrono::seconds kTestPatience{60};

template <typename T>
bool IsReady(std::future<T>& future, std::chrono::milliseconds patience = kTestPatience) {
  return future.wait_for(patience) == std::future_status::ready;
}

}  // namespace fetchbench::test
