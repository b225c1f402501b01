#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "agent/native/net_types.h"

namespace fetchbench::native {

// Wakes one waiting coroutine of the same thread. Set() before Wait() is not lost; several Set()s
// before a Wait() are one.
class AsyncEvent {
 public:
  explicit AsyncEvent(Executor executor) : executor_(std::move(executor)) {}

  template <typename Token>
  auto Wait(Token&& token) {
    return net::async_initiate<Token, void()>(
        [this](auto handler) {
          if (std::exchange(set_, false)) {
            net::post(executor_, std::move(handler));
          } else {
            waiter_ = std::move(handler);
          }
        },
        token);
  }

  void Set() {
    if (!waiter_) {
      set_ = true;
      return;
    }
    net::post(executor_, std::exchange(waiter_, nullptr));
  }

 private:
  Executor executor_;
  net::any_completion_handler<void()> waiter_;
  bool set_ = false;
};

}  // namespace fetchbench::native
