#include "agent/container/container_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/process/cpu_list.h"

namespace fetchbench::agent {
namespace {

constexpr uint32_t kLeastCpuPermille = 10;  // the Engine's own bound
constexpr uint32_t kMostCpuPermille = 1'024'000;
constexpr uint64_t kLeastMemoryBytes = 6 << 20;  // the Engine's own bound
constexpr uint32_t kLeastPids = 2;               // the init process and the target
constexpr uint64_t kLeastOpenFiles = 16;
constexpr size_t kMaxNetworkBytes = 256;

template <typename T>
T Or(T wished, T usual) {
  return wished == 0 ? usual : wished;
}

absl::Status TooLow(std::string_view field, uint64_t value, uint64_t least) {
  return absl::InvalidArgumentError(
      fmt::format("container option {} is {}: at least {}", field, value, least));
}

absl::Status TooHigh(std::string_view field, uint64_t value, uint64_t most) {
  return absl::InvalidArgumentError(
      fmt::format("container option {} is {}: at most {}", field, value, most));
}

absl::Status CheckMost(const v1::ContainerOptions& o) {
  if (o.memory_bytes() > kMostMemoryBytes) {
    return TooHigh("memory_bytes", o.memory_bytes(), kMostMemoryBytes);
  }
  if (o.cpu_permille() > kMostCpuPermille) {
    return TooHigh("cpu_permille", o.cpu_permille(), kMostCpuPermille);
  }
  if (o.pids() > kMostPids) return TooHigh("pids", o.pids(), kMostPids);
  if (o.open_files() > kMostOpenFiles) return TooHigh("open_files", o.open_files(), kMostOpenFiles);
  if (o.cpuset().size() > kMaxCpusetBytes) {
    return TooHigh("cpuset, in bytes,", o.cpuset().size(), kMaxCpusetBytes);
  }
  return absl::OkStatus();
}

absl::Status Check(const v1::ContainerOptions& o) {
  if (absl::Status s = CheckMost(o); !s.ok()) return s;
  if (o.cpu_permille() < kLeastCpuPermille) {
    return TooLow("cpu_permille", o.cpu_permille(), kLeastCpuPermille);
  }
  if (o.memory_bytes() < kLeastMemoryBytes) {
    return TooLow("memory_bytes", o.memory_bytes(), kLeastMemoryBytes);
  }
  if (o.pids() < kLeastPids) return TooLow("pids", o.pids(), kLeastPids);
  if (o.open_files() < kLeastOpenFiles) {
    return TooLow("open_files", o.open_files(), kLeastOpenFiles);
  }
  if (o.network_mode().size() > kMaxNetworkBytes || o.network_mode() == "host") {
    return absl::InvalidArgumentError(fmt::format(
        "container option network_mode is '{}': none, bridge, container:ID or a network's name",
        o.network_mode().substr(0, kMaxNetworkBytes)));
  }
  const auto cpus = ParseCpuList(o.cpuset());
  if (!cpus.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("container option cpuset: {}", std::string(cpus.status().message())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ContainerOptions> ApplyLimits(const v1::ContainerOptions& wished,
                                                 const std::vector<int>& target_cpus,
                                                 uint64_t max_open_files) {
  v1::ContainerOptions applied = wished;
  applied.set_cpu_permille(Or(wished.cpu_permille(), kDefaultCpuPermille));
  applied.set_memory_bytes(Or(wished.memory_bytes(), kDefaultMemoryBytes));
  applied.set_pids(Or(wished.pids(), kDefaultPids));
  applied.set_open_files(Or(wished.open_files(), kDefaultOpenFiles));
  if (max_open_files != 0) {
    applied.set_open_files(std::min(applied.open_files(), max_open_files));
  }
  if (wished.cpuset().empty()) applied.set_cpuset(fmt::format("{}", fmt::join(target_cpus, ",")));
  if (wished.network_mode().empty()) applied.set_network_mode("bridge");
  if (absl::Status s = Check(applied); !s.ok()) return s;
  return applied;
}

}  // namespace fetchbench::agent
