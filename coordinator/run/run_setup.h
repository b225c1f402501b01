#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/cli/options.h"
#include "coordinator/host/child_process.h"
#include "coordinator/host/placement.h"
#include "coordinator/web/origin_client.h"
#include "coordinator/web/origin_container.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// The simulated web of a run: an origin of our own, as a child or in a container, or one that ran
// already.
struct SimulatedWeb {
  std::optional<ChildProcess> process;
  std::unique_ptr<OriginContainer> container;
  std::unique_ptr<OriginClient> client;
  OriginConfig config;
  std::string ca_pem;

  bool is_own() const { return process.has_value() || container != nullptr; }
};

// An agent on this machine, in a folder of its own that only we can enter. Removed with the object.
class LocalAgent {
 public:
  LocalAgent(ChildProcess process, std::string folder, std::string address)
      : process_(std::move(process)), folder_(std::move(folder)), address_(std::move(address)) {}
  LocalAgent(LocalAgent&& other) noexcept
      : process_(std::move(other.process_)),
        folder_(std::exchange(other.folder_, {})),
        address_(std::move(other.address_)) {}
  LocalAgent& operator=(LocalAgent&&) = delete;
  ~LocalAgent();

  ChildProcess& process() { return process_; }
  const std::string& address() const { return address_; }

 private:
  ChildProcess process_;
  std::string folder_;
  std::string address_;
};

using Stopped = std::function<bool()>;  // whether to give up waiting

// InvalidArgument: an origin named by --origin that a container target cannot use, or a profile.
Task<absl::StatusOr<SimulatedWeb>> SetUpWeb(net::any_io_executor loop, const RunOptions& options,
                                            const Placement& placement, std::string run_id,
                                            std::string run_folder, Stopped stopped);
Task<absl::StatusOr<LocalAgent>> StartLocalAgent(net::any_io_executor loop,
                                                 const Placement& placement,
                                                 const RunOptions& options, Stopped stopped);

// What every agent is told. `target` as it was prepared; `web` is null with the real one. Pure.
v1::Start MakeStart(const std::string& run_id, const RunOptions& options,
                    const v1::TargetSpec& target, const SimulatedWeb* web);

}  // namespace fetchbench::coordinator
