#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "agent/native/net_types.h"

namespace fetchbench::native {

// Wakes one waiting coroutine of the same thread. Set() before Wait() is not lost; several Set()s
// before a Wait() are one. (Boost 1.81's any_completion_handler would do, but copies itself for
// ever when it is posted.)
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
            waiter_ = std::make_unique<HandlerOf<decltype(handler)>>(std::move(handler));
          }
        },
        token);
  }

  void Set() {
    if (waiter_ == nullptr) {
      set_ = true;
      return;
    }
    // The coroutine may destroy this event, or wait on it again.
    const std::unique_ptr<Waiter> waiter = std::move(waiter_);
    waiter->Post(executor_);
  }

 private:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void Post(const Executor& executor) = 0;
  };

  template <typename Handler>
  class HandlerOf final : public Waiter {
   public:
    explicit HandlerOf(Handler handler) : handler_(std::move(handler)) {}
    void Post(const Executor& executor) override { net::post(executor, std::move(handler_)); }

   private:
    Handler handler_;
  };

  Executor executor_;
  std::unique_ptr<Waiter> waiter_;
  bool set_ = false;
};

}  // namespace fetchbench::native
