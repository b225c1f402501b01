#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/docker/attach_stream.h"
#include "common/docker/engine_client.h"
#include "common/net.h"
#include "common/wakeup.h"

namespace fetchbench::coordinator {

struct OriginContainerPlan {
  std::string run_id;
  std::string profile;         // name or file
  std::string profile_folder;  // where a profile that is a file is copied to, for the container
  uint64_t seed = 1;
  std::vector<int> cpus;  // empty: any
  std::string program;    // the built origin
  std::string profiles;   // folder of the profiles that have names
};

// The simulated web in a container of its own, on a private network of its own: names on
// 127.0.0.1:53, hosts on ports 80 and 443 of loopback addresses, all in the network namespace that
// target containers join, and the control endpoint where this host reaches it. The container ends
// and is removed by the Engine as soon as this process is gone, because its standard input ends
// then; the network then is a leftover for the next run to remove. On the client's loop.
class OriginContainer {
 public:
  // Removes leftovers of coordinators and agents that are gone, makes the image if need be, and
  // waits until the origin is ready. Whatever fails, nothing of it stays. InvalidArgument and
  // NotFound: the profile.
  static Task<absl::StatusOr<std::unique_ptr<OriginContainer>>> Start(
      docker::EngineClient engine, OriginContainerPlan plan, std::function<bool()> stopped);
  ~OriginContainer();
  OriginContainer(const OriginContainer&) = delete;
  OriginContainer& operator=(const OriginContainer&) = delete;

  // Of the control endpoint, "172.18.0.2:8000".
  const std::string& control() const { return control_; }
  // How a target container joins: "container:ID".
  std::string network_mode() const { return "container:" + id_; }

  // Container and network; logs what cannot be removed.
  Task<> Remove();

 private:
  struct Output;

  explicit OriginContainer(docker::EngineClient engine) : engine_(std::move(engine)) {}

  Task<absl::Status> Create(OriginContainerPlan plan, std::string image);
  Task<absl::Status> WaitReady(std::function<bool()> stopped);

  docker::EngineClient engine_;
  std::string network_;  // names on the Engine; empty: nothing of it was asked for
  std::string name_;
  std::string id_;
  std::string control_;
  std::shared_ptr<Output> output_;
};

}  // namespace fetchbench::coordinator
