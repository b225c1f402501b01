#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/active_run.h"
#include "agent/container/container_host.h"
#include "agent/container/guarded_network.h"
#include "agent/container/image_store.h"
#include "common/clock.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Targets in containers: what is needed to describe and to start one. On the loop.
class ContainerLauncher {
 public:
  // `config` must outlive this.
  ContainerLauncher(net::any_io_executor loop, const AgentConfig& config);

  // Removes what agents that are gone left behind. In the background.
  void CleanUp();
  // Ends what waits for the Engine without a container behind it; containers are still removed.
  void ShutDown();

  // Its image is there: what the target says of itself. FailedPrecondition: it is not prepared.
  // `idle`: why nothing can be started now, should it have to be.
  Task<absl::StatusOr<v1::TargetFacts>> Facts(v1::TargetSpec target, absl::Status idle,
                                              std::function<bool()> stopping);

  // All for a run but the start itself. Errors as Facts, and InvalidArgument for options that have
  // no meaning in a container, and FailedPrecondition: its image is not that of the run's other
  // agents, or it must not reach private addresses, and the rules that keep it from them are not in
  // force. A target that cannot describe itself may
  // still run.
  Task<absl::StatusOr<TargetLaunch>> Launch(v1::Start start, std::function<bool()> stopping);

  // Of the Engine; empty: there is none. Asked at most every few seconds.
  Task<std::string> EngineVersion();

  ImageStore& images() { return images_; }

 private:
  absl::StatusOr<v1::ContainerOptions> Limits(const v1::ContainerOptions& wished) const;
  // The network that the run's addresses ask for; null: that of `network_mode`.
  absl::StatusOr<std::shared_ptr<GuardedNetwork>> NetworkOfRun(
      const v1::FetchOptions& options, const std::string& network_mode) const;
  // As wished, in a network that is guarded where the run asks for that.
  Task<absl::StatusOr<v1::ContainerOptions>> LimitsOfRun(v1::Start start);

  const AgentConfig& config_;
  const std::shared_ptr<ContainerHost> host_;
  const std::shared_ptr<GuardedNetwork> public_network_;
  const std::shared_ptr<GuardedNetwork> origin_network_;
  ImageStore images_;
  // An Engine that hangs must make neither Describe nor the end hang.
  docker::EngineClient version_client_;
  docker::EngineClient cleaning_client_;
  std::string version_;
  SteadyTime version_until_{};
  bool version_asked_ = false;      // the Engine, at this moment
  net::steady_timer version_told_;  // is cancelled when it has answered
};

// The target is not the native one, and says what its image is.
bool IsContainer(const v1::TargetSpec& target);

}  // namespace fetchbench::agent
