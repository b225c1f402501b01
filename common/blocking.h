#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "common/net.h"
#include "common/wakeup.h"

namespace fetchbench {

// Runs `work`, which may block, on a thread of its own while the loop goes on; gives its result.
// `work` must end by itself or be told to: the thread is joined. Its result is
// default-constructible.
template <typename Work>
Task<std::invoke_result_t<Work>> RunBlocking(net::any_io_executor loop, Work work) {
  using Result = std::invoke_result_t<Work>;
  auto done = std::make_shared<Wakeup>(loop);
  auto result = std::make_shared<Result>();
  const auto guard = boost::asio::prefer(loop, boost::asio::execution::outstanding_work.tracked);
  std::thread thread([guard, done, result, work = std::move(work)]() mutable {
    *result = work();
    net::post(guard, [done] { done->Notify(); });
  });
  co_await done->WaitUntil();
  thread.join();
  co_return std::move(*result);
}

}  // namespace fetchbench
