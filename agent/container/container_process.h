#pragma once

#include <memory>
#include <string>

#include "agent/container/container_config.h"
#include "agent/container/container_host.h"
#include "agent/target_process.h"
#include "common/net.h"

namespace fetchbench::agent {

// A target in a container. It is created, started with pipes of ours as its standard streams
// (stream_handover.h), and in the end removed, whatever happened to it; then OnExit comes.
// Destroying it removes the container in the background, and its sink hears nothing more.
class ContainerProcess final : public TargetProcess {
 public:
  ContainerProcess(std::shared_ptr<ContainerHost> host, ContainerSpec spec);
  ~ContainerProcess() override;
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  Task<absl::Status> Start(TargetCommand command, TargetSink& sink) override;
  void Feed(std::string bytes) override;
  bool writable() const override;
  void CloseInput() override;
  void Terminate() override;
  void Kill() override;
  TargetUsage Usage() override;
  std::string CostBasis() const override;

  // The container's name on the Engine; empty before Start.
  std::string name() const;

 private:
  class Running;

  const std::shared_ptr<ContainerHost> host_;
  const ContainerSpec spec_;
  std::shared_ptr<Running> running_;
};

}  // namespace fetchbench::agent
