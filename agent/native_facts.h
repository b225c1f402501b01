#pragma once

#include <sys/stat.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "agent/active_run.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// What the program of target 'native' says of itself. It is asked once, and again when its file has
// changed: a build or a package may replace it under a running agent. On the loop.
class NativeFacts {
 public:
  // `config` outlives it.
  NativeFacts(net::any_io_executor loop, const AgentConfig& config)
      : loop_(std::move(loop)), config_(config) {}

  // Of the program as it is now; empty: it has not been asked yet, and would have to be started.
  std::optional<v1::TargetFacts> Known() const;
  // The same, and asks if need be. `stopping` is looked at often; once it is true, the program is
  // ended. NotFound: there is no such program. Others: it does not describe itself, and how not.
  Task<absl::StatusOr<v1::TargetFacts>> Ask(std::function<bool()> stopping);

 private:
  struct Answer {
    timespec changed{};  // its file, before it was asked
    v1::TargetFacts facts;
  };

  net::any_io_executor loop_;
  const AgentConfig& config_;
  std::optional<Answer> last_;
};

}  // namespace fetchbench::agent
