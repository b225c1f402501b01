#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "agent/prepare_stream.h"
#include "common/docker/engine_client.h"
#include "common/wakeup.h"

namespace fetchbench::agent {

v1::PrepareProgress PrepareWords(std::string message);

// For a message of a Prepare or ExportImage call to come.
inline constexpr std::chrono::seconds kMessageLimit{30};

// The next piece of `what` that a coordinator sends. OutOfRange: that was all (it half-closed).
// DeadlineExceeded: it stopped coming.
Task<absl::StatusOr<v1::PrepareRequest>> NextPiece(PrepareStream& stream,
                                                   std::chrono::seconds patience, const char* what);

// Something that the Engine does for long, such as a build: one coroutine does it, another hands
// its output on. On the loop; shared by both.
struct EngineWork {
  // `silent`: what is said in place of output while there is none.
  EngineWork(const net::any_io_executor& loop, docker::EngineClient c, std::string silent_words)
      : client(std::move(c)), news(loop), silent(std::move(silent_words)) {}

  void OnLine(std::string_view line);
  void End(absl::Status status);

  docker::EngineClient client;  // of this work alone: cancelling it ends the work
  Wakeup news;
  const std::string silent;
  std::deque<std::string> lines;
  size_t left_out = 0;
  std::optional<absl::Status> result;
};

// Hands the lines on until the work has ended, and gives its result. A coordinator that leaves ends
// the work.
Task<absl::Status> FollowWork(PrepareStream& stream, std::shared_ptr<EngineWork> work);

}  // namespace fetchbench::agent
