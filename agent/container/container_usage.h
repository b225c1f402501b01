#pragma once

#include <cstdint>
#include <string>

#include "agent/container/cgroup_usage.h"
#include "agent/container/engine_cost.h"
#include "agent/process/open_files.h"
#include "agent/target_process.h"
#include "common/clock.h"
#include "common/docker/engine_json.h"

namespace fetchbench::agent {

// What one container costs: from the cgroup around it where that can be read, else from what the
// Engine tells while it runs. On the loop.
class ContainerUsage {
 public:
  ContainerUsage() = default;
  ContainerUsage(RunCgroup cgroup, EngineCost engine);

  // Once it runs. True: somebody must bring the Engine's figures (OnStats) from time to time.
  bool Started(const std::string& container_id);
  void OnStats(const docker::ContainerStats& stats);

  TargetUsage Read(SteadyTime now);
  // After its removal: the last figures, and the end of the cgroup.
  TargetUsage Close();

  const RunCgroup& cgroup() const { return cgroup_; }
  std::string Basis() const;

 private:
  void ReadCgroup();

  RunCgroup cgroup_;
  EngineCost engine_;
  OpenFileCounter open_files_;
  TargetUsage last_;
  bool from_cgroup_ = false;
};

}  // namespace fetchbench::agent
