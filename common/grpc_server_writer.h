#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "common/net.h"
#include "common/status_util.h"

namespace fetchbench {

// The server's side of a call that answers one request with a few messages (progress of something
// slow). All methods on the loop but Accept. Finish must be called exactly once, also when the
// client has gone.
template <typename Out>
class ServerWriter {
 public:
  // On gRPC's thread; `on_open` runs on the loop.
  static grpc::ServerWriteReactor<Out>* Accept(net::any_io_executor loop,
                                               std::function<void(ServerWriter)> on_open) {
    auto call = std::make_shared<Call>(std::move(loop));
    call->Open(std::move(on_open));
    return call.get();
  }

  // Sends when its turn comes. Meant for few messages: they are not bounded.
  void Write(Out message) {
    call_->queue.push_back(std::move(message));
    call_->Pump();
  }

  // After what was written.
  void Finish(const absl::Status& status) {
    call_->status = ToGrpc(status);
    call_->finish_wanted = true;
    call_->Pump();
  }

 private:
  class Call;
  explicit ServerWriter(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  std::shared_ptr<Call> call_;
};

template <typename Out>
class ServerWriter<Out>::Call final : public grpc::ServerWriteReactor<Out>,
                                      public std::enable_shared_from_this<Call> {
 public:
  explicit Call(net::any_io_executor loop) : loop_(std::move(loop)), guard_(loop_) {}

  void Open(std::function<void(ServerWriter)> on_open) {
    self_ = this->shared_from_this();
    net::post(loop_, [self = self_, on_open = std::move(on_open)] { on_open(ServerWriter(self)); });
  }

  void Pump() {
    if (writing_ || finished_) return;
    if (!queue.empty() && !broken_) {
      writing_ = true;
      this->StartWrite(&queue.front());
    } else if (finish_wanted) {
      finished_ = true;
      this->grpc::ServerWriteReactor<Out>::Finish(status);
    }
  }

  std::deque<Out> queue;
  grpc::Status status;
  bool finish_wanted = false;

 private:
  void OnWriteDone(bool ok) override {
    net::post(loop_, [self = this->shared_from_this(), ok] {
      self->writing_ = false;
      self->broken_ = self->broken_ || !ok;
      self->queue.pop_front();
      self->Pump();
    });
  }
  void OnDone() override {
    const net::any_io_executor loop = loop_;
    net::post(loop, [self = std::move(self_)] { self->guard_.reset(); });
  }

  net::any_io_executor loop_;
  net::executor_work_guard<net::any_io_executor> guard_;
  std::shared_ptr<Call> self_;  // until OnDone: gRPC holds a plain pointer
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
};

}  // namespace fetchbench
