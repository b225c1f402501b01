#pragma once

#include <boost/beast/http/verb.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/docker/body_source.h"
#include "common/docker/engine_connection.h"
#include "common/net.h"

namespace fetchbench::docker {

// Of an answer that is kept whole.
inline constexpr size_t kMaxReplyBytes = 16 << 20;

// One request of the Engine's API.
struct EngineCall {
  std::string what;  // "creating container x", for error texts
  boost::beast::http::verb method = boost::beast::http::verb::get;
  std::string target;                    // path and query
  std::string body;                      // JSON; empty: none
  std::optional<BodySource> tar;         // or an archive
  std::chrono::milliseconds deadline{};  // for all of it
};

struct EngineReply {
  unsigned status = 0;
  std::string body;
  std::string api_version;  // of the Engine, from the answer's head
};

// Status for an answer of 400 and above: the call, the Engine's own words, what to do. Pure.
absl::Status ReplyError(const std::string& what, unsigned status, std::string_view body);

// Sends the call and takes its answer; answers of 400 and above are errors.
Task<absl::StatusOr<EngineReply>> Perform(EnginePort port, EngineCall call);

// The same for an answer that comes in pieces: `sink` gets them as they come.
Task<absl::Status> PerformStreaming(EnginePort port, EngineCall call,
                                    std::function<void(std::string_view bytes)> sink);

// Of an answer's body that is read piece by piece.
inline constexpr size_t kBodyPieceBytes = 256 << 10;

// The body of an answer, taken from the Engine no faster than it is read. A handle; the connection
// is closed with the last one. On the loop.
class EngineBody {
 public:
  // What comes next, at most kBodyPieceBytes; empty at the end. One read at a time.
  Task<absl::StatusOr<std::string>> Read() { return ReadFrom(state_); }

 private:
  friend Task<absl::StatusOr<EngineBody>> PerformReading(EnginePort port, EngineCall call);
  struct State;
  static Task<absl::StatusOr<std::string>> ReadFrom(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

// Sends the call and takes the head of its answer. The call's deadline holds for the reading too.
Task<absl::StatusOr<EngineBody>> PerformReading(EnginePort port, EngineCall call);

// Sends the call and takes the connection over after the answer's head.
Task<absl::StatusOr<std::shared_ptr<EngineConnection>>> Hijack(EnginePort port, EngineCall call);

}  // namespace fetchbench::docker
