#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <memory>
#include <utility>

#include "common/grpc_stream_core.h"

namespace fetchbench {

// One bidirectional call, as coroutines on a control loop (io_context{1}, one thread):
//
//   auto stream = ClientStream<Out, In>::Start(
//       loop, [&stub](grpc::ClientContext* context, auto* reactor) { stub.async()->Execute(context,
//       reactor); });
//   absl::Status s = co_await stream.Write(std::move(start));
//   while (true) { absl::StatusOr<In> in = co_await stream.Read(); ... }
//
// One Read and one Write at a time; both may be suspended at once. All methods on the loop.
// Dropping the handle cancels the call. The loop must run until the call is done (it is kept
// running by the call), and the stub and channel may go before. Do not use Asio's cancellation
// slots on these coroutines: Cancel() wakes them.
template <typename Out, typename In>
class ClientStream {
 public:
  template <typename Starter>
  static ClientStream Start(net::any_io_executor loop, const Starter& start,
                            StreamLimits limits = {}) {
    auto call = std::make_shared<Call>(std::move(loop), limits);
    start(&call->context(), static_cast<grpc::ClientBidiReactor<Out, In>*>(call.get()));
    call->StartOnLoop();
    return ClientStream(std::move(call));
  }

  ClientStream(ClientStream&&) noexcept = default;
  ClientStream& operator=(ClientStream&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~ClientStream() {
    if (call_) call_->Abandon();
  }

  // The next message; after the last one the call's final status, where a final OK becomes
  // EndOfStream(). DEADLINE_EXCEEDED: nothing came until `deadline`, and the call goes on; or it is
  // over(), and this is what the peer ended it with: then every further Read answers so at once.
  Task<absl::StatusOr<In>> Read(SteadyTime deadline = SteadyTime::max()) {
    return StreamCore<Out, In>::Read(call_, deadline);
  }

  // There is nothing left to read but the final status.
  bool over() const { return call_->over(); }

  // OK when gRPC has taken the message (flow control delays that: back-pressure). A failure means
  // that the call is ending; Read tells why.
  Task<absl::Status> Write(Out message) {
    return StreamCore<Out, In>::Write(call_, std::move(message));
  }

  // Half-closes: no Write may follow.
  void CloseWrites() { call_->CloseWrites(); }

  // Half-closes, drops what still comes, and gives the final status (OK for a good end).
  Task<absl::Status> Finish() {
    call_->CloseWrites();
    return Drain(call_);
  }

  // Ends the call with CANCELLED, and wakes Read and Write. What is in the inbox can still be read.
  void Cancel() { call_->CancelCall(); }

 private:
  class Call;
  explicit ClientStream(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  static Task<absl::Status> Drain(std::shared_ptr<Call> call) {
    while (true) {
      const absl::StatusOr<In> message =
          co_await StreamCore<Out, In>::Read(call, SteadyTime::max());
      if (message.ok()) continue;
      if (IsEndOfStream(message.status())) co_return absl::OkStatus();
      co_return message.status();
    }
  }

  std::shared_ptr<Call> call_;
};

// Holds: one for the reads, one for the writes, because operations start outside of reactions.
// OnDone comes when both are given back.
template <typename Out, typename In>
class ClientStream<Out, In>::Call final : public grpc::ClientBidiReactor<Out, In>,
                                          public StreamCore<Out, In> {
 public:
  using StreamCore<Out, In>::StreamCore;

  grpc::ClientContext& context() { return context_; }

  void StartOnLoop() {
    self_ = std::static_pointer_cast<Call>(this->shared_from_this());
    this->AddMultipleHolds(2);
    this->StartCall();
    this->MaybeRead();
  }

  void CloseWrites() {
    this->CloseWriteSide();
    close_wanted_ = true;
    if (!this->writing()) OnWriteEnded();
  }

  void CancelCall() override {
    context_.TryCancel();
    this->CloseWriteSide();
    this->StopReading();
  }

  void Abandon() {
    if (this->done()) return;
    context_.TryCancel();
    this->CloseWriteSide();
    this->Discard();
  }

 private:
  // On the loop.
  void IssueRead(In& message) override { this->StartRead(&message); }
  void IssueWrite(const Out& message) override { this->StartWrite(&message); }
  void OnReadEnded() override {
    this->CloseWriteSide();
    this->RemoveHold();
    if (!this->writing()) OnWriteEnded();
  }
  void OnWriteEnded() override {
    if (!close_wanted_ && !this->read_ended()) return;
    if (std::exchange(write_hold_removed_, true)) return;
    if (!this->read_ended()) this->StartWritesDone();
    this->RemoveHold();
  }
  void DoneOnLoop(const grpc::Status& status) {
    this->CloseWriteSide();
    this->EndInput(status.ok() ? EndOfStream() : FromGrpc(status));
    this->Done();
  }

  // On gRPC's threads: post and return.
  void OnReadDone(bool ok) override {
    this->Post([this, ok] { this->ReadDone(ok); });
  }
  void OnWriteDone(bool ok) override {
    this->Post([this, ok] { this->WriteDone(ok); });
  }
  void OnDone(const grpc::Status& status) override {
    this->PostLast(std::move(self_), [this, status] { DoneOnLoop(status); });
  }

  grpc::ClientContext context_;
  std::shared_ptr<Call> self_;  // until OnDone: gRPC holds a plain pointer
  bool close_wanted_ = false;
  bool write_hold_removed_ = false;
};

}  // namespace fetchbench
