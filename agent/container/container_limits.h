#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// One fair small machine for each target.
inline constexpr uint32_t kDefaultCpuPermille = 1'000;
inline constexpr uint64_t kDefaultMemoryBytes = uint64_t{2} << 30;
inline constexpr uint32_t kDefaultPids = 4'096;
inline constexpr uint64_t kDefaultOpenFiles = 20'000;
// More than any host has; the Engine takes larger numbers for negative ones, and those for no
// limit.
inline constexpr uint64_t kMostMemoryBytes = uint64_t{1} << 46;
inline constexpr uint64_t kMostOpenFiles = uint64_t{1} << 24;
inline constexpr uint32_t kMostPids = 1 << 22;
inline constexpr size_t kMaxCpusetBytes = 4'096;

// What a container gets, of what was wished for and what this host allows: every field is set, the
// open files are the wish or `max_open_files` (0: unknown), whichever is lower. InvalidArgument
// names the field that makes no sense. Pure.
absl::StatusOr<v1::ContainerOptions> ApplyLimits(const v1::ContainerOptions& wished,
                                                 const std::vector<int>& target_cpus,
                                                 uint64_t max_open_files);

}  // namespace fetchbench::agent
