#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/net.h"
#include "common/spawn.h"
#include "coordinator/fleet/stop_look_up.h"

namespace fetchbench::coordinator {

struct WriteWatch {
  explicit WriteWatch(const net::any_io_executor& loop) : timer(loop) {}
  net::steady_timer timer;
  bool over = false;  // stream and caller may be gone by now
};

template <typename Stream>
Task<> CancelWhenStopped(std::shared_ptr<WriteWatch> watch, Stream* stream,
                         const std::function<bool()>* stopped) {
  while (!watch->over) {
    watch->timer.expires_after(kStopLookUp);
    co_await watch->timer.async_wait(kAsTuple);
    if (watch->over) co_return;
    if (!(*stopped)()) continue;
    stream->Cancel();
    co_return;
  }
}

// Writes a message to an agent. Cancelled: the user gave up, and the call is ended: an agent that
// takes nothing would keep the write waiting until its deadline. DeadlineExceeded: that was
// reached. Unavailable: the call is ending, and the next read tells why.
template <typename Message, typename Stream>
Task<absl::Status> PatientWrite(Stream& stream, Message message,
                                const std::function<bool()>& stopped) {
  if (stopped()) co_return absl::CancelledError("stopped by the user");
  const net::any_io_executor loop = co_await net::this_coro::executor;
  const auto watch = std::make_shared<WriteWatch>(loop);
  Spawn(loop, "write watch", CancelWhenStopped(watch, &stream, &stopped));
  absl::Status sent = co_await stream.Write(std::move(message));
  watch->over = true;
  watch->timer.cancel();
  if (sent.ok()) co_return sent;
  if (stopped()) co_return absl::CancelledError("stopped by the user");
  if (absl::IsDeadlineExceeded(sent)) {
    co_return absl::DeadlineExceededError("the agent does not take what it is sent");
  }
  co_return absl::UnavailableError(std::string(sent.message()));
}

}  // namespace fetchbench::coordinator
