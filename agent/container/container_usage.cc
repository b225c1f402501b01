#include "agent/container/container_usage.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace fetchbench::agent {

ContainerUsage::ContainerUsage(RunCgroup cgroup, EngineCost engine)
    : cgroup_(std::move(cgroup)), engine_(std::move(engine)) {}

bool ContainerUsage::Started(const std::string& container_id) {
  engine_.AddShim(container_id);
  engine_.Restart();
  from_cgroup_ = cgroup_.Read().has_value();
  return !from_cgroup_;
}

void ContainerUsage::ReadCgroup() {
  const std::optional<CgroupFigures> figures = cgroup_.Read();
  if (!figures) return;
  last_.user_us = figures->user_us;
  last_.system_us = figures->system_us;
  last_.rss_bytes = figures->memory_bytes;
  // Kernels before 5.19 keep no peak in version 2: then it is the highest that was seen.
  last_.peak_rss_bytes =
      std::max({last_.peak_rss_bytes, figures->memory_peak_bytes, figures->memory_bytes});
}

void ContainerUsage::OnStats(const docker::ContainerStats& stats) {
  // Of a container that has ended the Engine says zeros.
  last_.user_us = std::max(last_.user_us, stats.user_us);
  last_.system_us = std::max(last_.system_us, stats.system_us);
  last_.rss_bytes = stats.memory_bytes;
  last_.peak_rss_bytes =
      std::max({last_.peak_rss_bytes, stats.memory_peak_bytes, stats.memory_bytes});
}

TargetUsage ContainerUsage::Read(SteadyTime now) {
  if (from_cgroup_) ReadCgroup();
  const OpenFiles files = open_files_.Count(cgroup_.Pids(), now);
  last_.open_files = files.files;
  last_.open_sockets = files.sockets;
  last_.engine_cpu_us = engine_.CpuUs();
  return last_;
}

TargetUsage ContainerUsage::Close() {
  if (from_cgroup_) ReadCgroup();
  cgroup_.Remove();
  last_.rss_bytes = 0;
  last_.open_files = 0;
  last_.open_sockets = 0;
  // The Engine's part stays as it was read last, while the target ran: cleaning up is not
  // measuring.
  return last_;
}

std::string ContainerUsage::Basis() const {
  if (from_cgroup_) return cgroup_.Basis();
  return "the Engine's stats, read once a second while it ran (its cgroup cannot be read here); "
         "peak "
         "includes page cache";
}

}  // namespace fetchbench::agent
