#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/container/container_host.h"
#include "agent/container/guard_state.h"
#include "common/net.h"

namespace fetchbench::agent {

// What can be reached from a guarded network.
enum class GuardedReach {
  kPublic,  // public addresses
  kOrigin,  // the simulated webs that the guard was told of
};

// A network of this agent's from which only some addresses can be reached, by the rules of
// fetchbench-guard. That they are in force is seen anew for each use: by the guard's note, and by a
// probe from within the network. On the loop; hold it by shared_ptr.
class GuardedNetwork {
 public:
  GuardedNetwork(std::shared_ptr<ContainerHost> host, std::string state_file, GuardedReach reach);

  // The guard has left a note on this host, so its rules should be in force.
  bool expected() const;

  // FailedPrecondition: the rules do not let a container reach the simulated web at `address`, or
  // are of no use at all.
  absl::Status LetsReach(std::string_view address) const;

  // Its name, as a container's or a build's network. FailedPrecondition: the rules are not in
  // force, and what to do.
  static Task<absl::StatusOr<std::string>> Ready(std::shared_ptr<GuardedNetwork> self);

  // Takes the network away, when the containers in it are gone.
  static Task<> Remove(std::shared_ptr<GuardedNetwork> self);

 private:
  Task<absl::StatusOr<std::string>> CheckedName();
  Task<absl::StatusOr<docker::NetworkInfo>> Network(GuardState state);
  Task<absl::StatusOr<docker::NetworkInfo>> MakeNetwork(GuardState state);
  Task<absl::StatusOr<std::string>> ProbeImage();
  Task<absl::Status> Probe(std::string network, std::string gateway);

  const std::shared_ptr<ContainerHost> host_;
  const std::string state_file_;
  const GuardedReach reach_;
  std::string name_;
  std::string bridges_;      // of the state that the network was made by
  std::string probe_image_;  // its id
  bool busy_ = false;
};

}  // namespace fetchbench::agent
