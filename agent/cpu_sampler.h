#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace fetchbench::agent {

// One CPU's line of /proc/stat, in clock ticks since boot.
struct CpuTicks {
  uint64_t total = 0;
  uint64_t idle = 0;  // idle and iowait
  uint64_t steal = 0;
};
using CpuTable = std::map<int, CpuTicks>;

// From the text of /proc/stat; lines that are not of a CPU are passed over. Pure.
CpuTable ParseCpuTable(std::string_view proc_stat);

// How busy the machine was between two samples, in thousandths.
struct CpuLoad {
  uint32_t other_busy =
      0;  // the busiest CPU that is not the target's; 0 when targets are not pinned
  uint32_t target_busy =
      0;               // the busiest of the target's CPUs; of all CPUs when targets are not pinned
  uint32_t steal = 0;  // over all CPUs
};
CpuLoad LoadBetween(const CpuTable& before, const CpuTable& after,
                    const std::vector<int>& target_cpus);

// Samples /proc/stat.
class CpuSampler {
 public:
  explicit CpuSampler(std::vector<int> target_cpus);
  // Since the call before (or the construction).
  CpuLoad Sample();

 private:
  std::vector<int> target_cpus_;
  CpuTable last_;
};

// CPU time and resident memory of this process.
struct OwnUsage {
  uint64_t cpu_us = 0;
  uint64_t rss_bytes = 0;
};
OwnUsage ReadOwnUsage();

}  // namespace fetchbench::agent
