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

// The simulated web in a container of its own, without any network but its own loopback: names on
// 127.0.0.1:53, hosts on ports 80 and 443 of loopback addresses, all in the network namespace that
// target containers join. So they reach the origin and nothing else, this host not either. Its
// control endpoint is a socket in a folder of this process. The container ends and is removed by
// the Engine as soon as this process is gone, because its standard input ends then. On the client's
// loop.
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

  // Of the control endpoint, "unix:PATH".
  const std::string& control() const { return control_; }
  // How a target container joins: "container:ID".
  std::string network_mode() const { return "container:" + id_; }

  // Container and folder; logs what cannot be removed.
  Task<> Remove();

 private:
  struct Output;

  explicit OriginContainer(docker::EngineClient engine) : engine_(std::move(engine)) {}

  Task<absl::Status> Create(OriginContainerPlan plan, std::string image);
  Task<absl::Status> WaitReady(std::function<bool()> stopped);
  void RemoveFolder();

  docker::EngineClient engine_;
  std::string folder_;  // of the control endpoint's socket
  std::string name_;    // on the Engine; empty: it was not asked for
  std::string id_;
  std::string control_;
  std::shared_ptr<Output> output_;
};

}  // namespace fetchbench::coordinator
