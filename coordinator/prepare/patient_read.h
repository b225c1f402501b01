#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net.h"
#include "coordinator/fleet/stop_look_up.h"

namespace fetchbench::coordinator {

// The next message of an agent that is at work, or why there is none. Cancelled: the user gave up.
// `doing`: what it does, for the error when it says nothing for `patience`.
template <typename Message, typename Stream>
Task<absl::StatusOr<Message>> PatientRead(Stream& stream, std::chrono::milliseconds patience,
                                          const std::function<bool()>& stopped, const char* doing) {
  const SteadyTime limit = std::chrono::steady_clock::now() + patience;
  while (true) {
    // Before each message too: there may be no end of them.
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    const SteadyTime now = std::chrono::steady_clock::now();
    absl::StatusOr<Message> message = co_await stream.Read(std::min(limit, now + kStopLookUp));
    if (message.ok()) co_return message;
    if (!absl::IsDeadlineExceeded(message.status()) || stream.over()) co_return message;
    if (std::chrono::steady_clock::now() >= limit) {
      co_return absl::DeadlineExceededError(
          fmt::format("the agent said nothing for {} s while {}",
                      std::chrono::duration_cast<std::chrono::seconds>(patience).count(), doing));
    }
  }
}

}  // namespace fetchbench::coordinator
