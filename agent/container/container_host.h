#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/docker/engine_client.h"
#include "common/net.h"

namespace fetchbench::agent {

// What all containers of this process share: the Engine, our name on what we make, and a private
// folder for files that are mounted. On the loop; shared by what still cleans up after its owner.
class ContainerHost {
 public:
  // `entry_program`: fetchbench-entry on this host.
  ContainerHost(net::any_io_executor loop, std::string socket_path, std::string entry_program);
  ~ContainerHost();
  ContainerHost(const ContainerHost&) = delete;
  ContainerHost& operator=(const ContainerHost&) = delete;

  docker::EngineClient& client() { return client_; }
  const net::any_io_executor& loop() const { return client_.loop(); }
  const std::string& owner() const { return owner_; }

  // The Engine's facts, asked once.
  Task<absl::StatusOr<docker::EngineInfo>> Info();
  const std::string& entry_program() const { return entry_program_; }
  // Unlike any before: for names.
  uint64_t NextNumber() { return ++number_; }
  absl::StatusOr<std::string> Folder();

 private:
  docker::EngineClient client_;
  const std::string owner_;
  const std::string entry_program_;
  std::optional<docker::EngineInfo> info_;
  std::string folder_;
  uint64_t number_ = 0;
};

// Removes what agents that are gone left behind on this host: containers, networks, cgroups and
// folders. What cannot be removed is logged. Ends early when `client` is cancelled.
Task<> RemoveLeftovers(docker::EngineClient client);

}  // namespace fetchbench::agent
