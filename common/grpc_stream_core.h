#pragma once

// What the client's and the server's side of the bridge between gRPC's callback API and coroutines
// have in common. Use grpc_client_stream.h or grpc_server_stream.h.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/status_util.h"
#include "common/wakeup.h"

namespace fetchbench {

struct StreamLimits {
  // Messages that wait for Read. When so many do, nothing further is taken off the wire: the peer's
  // writes slow down.
  size_t inbox_messages = 16;
  // A write that takes longer cancels the call: a peer that vanished behind a proxy may never be
  // reported (grpc/grpc#41492).
  std::chrono::milliseconds write_deadline{30'000};
};

// Loop side of one call. Everything runs on the loop but Post. gRPC's rules that it keeps: one read
// and one write in flight, no operation after the end, and messages stay in place while gRPC uses
// them.
template <typename Out, typename In>
class StreamCore : public std::enable_shared_from_this<StreamCore<Out, In>> {
 public:
  using Self = std::shared_ptr<StreamCore>;

  StreamCore(net::any_io_executor loop, StreamLimits limits)
      : loop_(std::move(loop)),
        limits_(limits),
        guard_(loop_),
        readable_(loop_),
        written_(loop_),
        done_wakeup_(loop_) {}
  virtual ~StreamCore() = default;
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;

  // Coroutines take the stream by shared_ptr: it stays alive while one is suspended in it.
  static Task<absl::StatusOr<In>> Read(Self self, SteadyTime deadline) {
    if (self->waiting_reader_) co_return absl::FailedPreconditionError("a read is under way");
    while (self->inbox_.empty()) {
      if (self->over_) co_return self->end_status_;
      self->waiting_reader_ = true;
      const bool woken = co_await self->readable_.WaitUntil(deadline);
      self->waiting_reader_ = false;
      // Which may have come, or the end, before this coroutine's turn.
      if (!woken && self->inbox_.empty() && !self->over_) {
        co_return absl::DeadlineExceededError("no message in time");
      }
    }
    In message = std::move(self->inbox_.front());
    self->inbox_.pop_front();
    self->MaybeRead();
    co_return std::move(message);
  }

  bool over() const { return over_ && inbox_.empty(); }

  static Task<absl::Status> Write(Self self, Out message) {
    if (self->writing_) co_return absl::FailedPreconditionError("a write is under way");
    if (self->writes_closed_) co_return self->WriteFailure();
    self->outgoing_ = std::move(message);
    self->writing_ = true;
    self->IssueWrite(self->outgoing_);
    const SteadyTime deadline = std::chrono::steady_clock::now() + self->limits_.write_deadline;
    const bool in_time = co_await self->written_.WaitUntil(deadline);
    if (!in_time) {
      self->CancelCall();
      co_await self->written_.WaitUntil();  // the message must stay until gRPC gives it back
      co_return absl::DeadlineExceededError("the peer took no message in time");
    }
    if (!self->write_ok_) co_return self->WriteFailure();
    co_return absl::OkStatus();
  }

  // Until gRPC has let go of the call. One waiter at a time.
  static Task<> WaitDone(Self self) {
    while (!self->done_) co_await self->done_wakeup_.WaitUntil();
  }

  // Ends the call at once; what is in the inbox can still be read.
  virtual void CancelCall() = 0;

 protected:
  virtual void IssueRead(In& message) = 0;
  virtual void IssueWrite(const Out& message) = 0;
  // Once, after the last read; and after each write: the moments to give back holds or to finish.
  virtual void OnReadEnded() = 0;
  virtual void OnWriteEnded() = 0;

  // From gRPC's threads: runs `action` on the loop, and keeps the call alive until then.
  template <typename Action>
  void Post(Action action) {
    const net::any_io_executor loop = loop_;  // the action may be the last that holds this object
    net::post(loop, [self = this->shared_from_this(), action] { action(); });
  }

  // The same for the last action, which takes the reference along that gRPC had. Were it dropped
  // here after the post, it might be the very last one, and the call be destroyed when its loop is
  // gone.
  template <typename Action>
  static void PostLast(Self self, Action action) {
    const net::any_io_executor loop = self->loop_;
    net::post(loop, [self = std::move(self), action] { action(); });
  }

  void MaybeRead() {
    if (reading_ || read_ended_ || inbox_.size() >= limits_.inbox_messages) return;
    reading_ = true;
    IssueRead(incoming_);
  }

  void ReadDone(bool ok) {
    reading_ = false;
    if (ok && !discard_) {
      inbox_.push_back(std::move(incoming_));
      incoming_ = In();
      readable_.Notify();
    }
    if (!ok || stop_reading_) {
      EndReading();
    } else {
      MaybeRead();
    }
  }

  void WriteDone(bool ok) {
    writing_ = false;
    write_ok_ = ok;
    written_.Notify();
    OnWriteEnded();
  }

  // No further read is issued; one in flight is waited for.
  void StopReading() {
    stop_reading_ = true;
    if (!reading_) EndReading();
  }

  // Nobody will Read any more: whatever came or comes is dropped.
  void Discard() {
    discard_ = true;
    inbox_.clear();
    StopReading();
  }

  void CloseWriteSide() { writes_closed_ = true; }

  // Nothing further will come: Read gives what is in the inbox, then `status`. The first call
  // counts.
  void EndInput(absl::Status status) {
    if (std::exchange(over_, true)) return;
    end_status_ = std::move(status);
    readable_.Notify();
  }

  // gRPC has let go of the call.
  void Done() {
    done_ = true;
    done_wakeup_.Notify();
    guard_.reset();
  }

  bool read_ended() const { return read_ended_; }
  bool writing() const { return writing_; }
  bool done() const { return done_; }

 private:
  void EndReading() {
    if (std::exchange(read_ended_, true)) return;
    OnReadEnded();
  }

  absl::Status WriteFailure() const {
    if (over_ && !IsEndOfStream(end_status_)) return end_status_;
    return absl::UnavailableError("the stream is broken or over; Read tells why");
  }

  net::any_io_executor loop_;
  StreamLimits limits_;
  net::executor_work_guard<net::any_io_executor> guard_;  // an RPC is invisible to the io_context
  Wakeup readable_;
  Wakeup written_;
  Wakeup done_wakeup_;
  std::deque<In> inbox_;
  In incoming_;   // gRPC's while reading_
  Out outgoing_;  // gRPC's while writing_
  bool reading_ = false;
  bool read_ended_ = false;
  bool stop_reading_ = false;
  bool discard_ = false;
  bool waiting_reader_ = false;
  bool writing_ = false;
  bool write_ok_ = false;
  bool writes_closed_ = false;
  bool over_ = false;
  bool done_ = false;
  absl::Status end_status_;
};

}  // namespace fetchbench
