#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <utility>

#include "common/grpc_stream_core.h"

namespace fetchbench {

// The server's side of one bidirectional call, as coroutines on a control loop. In the callback
// service:
//
//   grpc::ServerBidiReactor<In, Out>* Execute(grpc::CallbackServerContext* context) override {
//     return ServerStream<Out, In>::Accept(context, loop_, [this](ServerStream<Out, In> stream) {
//     ... });
//   }
//
// One Read and one Write at a time; both may be suspended at once. All methods on the loop. Every
// call is finished exactly once: by Finish(), else with CANCELLED when the client goes away or the
// handle is dropped. The loop must run until all calls are done (they keep it running).
template <typename Out, typename In>
class ServerStream {
 public:
  // On gRPC's thread. `on_open` runs on the loop.
  static grpc::ServerBidiReactor<In, Out>* Accept(grpc::CallbackServerContext* context,
                                                  net::any_io_executor loop,
                                                  std::function<void(ServerStream)> on_open,
                                                  StreamLimits limits = {}) {
    auto call = std::make_shared<Call>(std::move(loop), limits);
    call->Open(context, std::move(on_open));
    return call.get();
  }

  ServerStream(ServerStream&&) noexcept = default;
  ServerStream& operator=(ServerStream&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~ServerStream() {
    if (call_) call_->Abandon();
  }

  // The next message; then EndOfStream() when the client half-closed, CANCELLED when it went away
  // or the call was ended here. DEADLINE_EXCEEDED: nothing came until `deadline`; the call goes on.
  Task<absl::StatusOr<In>> Read(SteadyTime deadline = SteadyTime::max()) {
    return StreamCore<Out, In>::Read(call_, deadline);
  }

  // OK when gRPC has taken the message (flow control delays that: back-pressure).
  Task<absl::Status> Write(Out message) {
    return StreamCore<Out, In>::Write(call_, std::move(message));
  }

  // Ends the call with `status` after a write in flight, and returns when gRPC has let go of it.
  // CANCELLED: the client had gone before the status was on its way.
  Task<absl::Status> Finish(absl::Status status) {
    call_->FinishWith(std::move(status));
    return Wait(call_);
  }

  // The same without waiting. What was read before can still be read.
  void FinishSoon(absl::Status status) { call_->FinishWith(std::move(status)); }

  // Ends the call with CANCELLED at once, and wakes Read and Write.
  void Cancel() { call_->CancelCall(); }

 private:
  class Call;
  explicit ServerStream(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  static Task<absl::Status> Wait(std::shared_ptr<Call> call) {
    co_await StreamCore<Out, In>::WaitDone(call);
    if (call->client_gone()) co_return absl::CancelledError("the client went away");
    co_return absl::OkStatus();
  }

  std::shared_ptr<Call> call_;
};

// No holds on this side: Finish is what synchronises. It comes after the last write and before
// nothing.
template <typename Out, typename In>
class ServerStream<Out, In>::Call final : public grpc::ServerBidiReactor<In, Out>,
                                          public StreamCore<Out, In> {
 public:
  using StreamCore<Out, In>::StreamCore;

  void Open(grpc::CallbackServerContext* context, std::function<void(ServerStream)> on_open) {
    context_ = context;
    self_ = std::static_pointer_cast<Call>(this->shared_from_this());
    this->Post([this, on_open = std::move(on_open)] {
      this->MaybeRead();
      on_open(ServerStream(std::static_pointer_cast<Call>(this->shared_from_this())));
    });
  }

  void FinishWith(absl::Status status) {
    if (std::exchange(finish_wanted_, true)) return;
    finish_status_ = ToGrpc(status);
    this->CloseWriteSide();
    this->EndInput(absl::CancelledError("the call was finished here"));
    if (!this->writing()) OnWriteEnded();
  }

  bool client_gone() const { return client_gone_; }

  void CancelCall() override {
    if (finished_) return;
    context_->TryCancel();
    FinishWith(absl::CancelledError("cancelled by the server"));
  }

  void Abandon() {
    this->Discard();
    if (this->writing() && !finished_) context_->TryCancel();  // so that the write comes back
    FinishWith(absl::CancelledError("the server dropped the call"));
  }

 private:
  // On the loop.
  void IssueRead(In& message) override { this->StartRead(&message); }
  void IssueWrite(const Out& message) override { this->StartWrite(&message); }
  void OnReadEnded() override {
    if (finished_) return;
    this->EndInput(context_->IsCancelled() ? absl::CancelledError("the client went away")
                                           : EndOfStream());
  }
  void OnWriteEnded() override {
    if (!finish_wanted_ || finished_) return;
    finished_ = true;
    this->StopReading();
    this->grpc::ServerBidiReactor<In, Out>::Finish(finish_status_);
  }
  void CancelledOnLoop() {
    client_gone_ = true;
    this->EndInput(absl::CancelledError("the client went away"));
    this->StopReading();
    FinishWith(absl::CancelledError("the client went away"));
  }

  // On gRPC's threads: post and return.
  void OnReadDone(bool ok) override {
    this->Post([this, ok] { this->ReadDone(ok); });
  }
  void OnWriteDone(bool ok) override {
    this->Post([this, ok] { this->WriteDone(ok); });
  }
  void OnCancel() override {
    this->Post([this] { CancelledOnLoop(); });
  }
  void OnDone() override {
    this->PostLast(std::move(self_), [this] { this->Done(); });
  }

  grpc::CallbackServerContext* context_ = nullptr;  // gone after Finish
  std::shared_ptr<Call> self_;                      // until OnDone: gRPC holds a plain pointer
  grpc::Status finish_status_;
  bool finish_wanted_ = false;
  bool finished_ = false;
  bool client_gone_ = false;
};

}  // namespace fetchbench
