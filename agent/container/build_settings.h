#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/docker/engine_client.h"

namespace fetchbench::agent {

// Of every build: it runs the commands of somebody else's Dockerfile.
inline constexpr uint64_t kMostBuildMemoryBytes = uint64_t{4} << 30;
inline constexpr std::chrono::minutes kBuildTime{30};

// How images are built here.
struct BuildSettings {
  docker::BuildLimits limits{kMostBuildMemoryBytes, 0, {}};
  std::chrono::milliseconds time = kBuildTime;  // then the build is ended
  // Of RUN steps, as the Engine takes it; empty: guarded where fetchbench-guard is in force, else
  // the Engine's default.
  std::string network;
  bool require_guard = false;  // no build where it is not in force
};

}  // namespace fetchbench::agent
