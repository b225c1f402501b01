#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/docker/engine_json.h"

namespace fetchbench::agent {

// What a cgroup's books say, of all processes that ever were in it.
struct CgroupFigures {
  uint64_t user_us = 0;
  uint64_t system_us = 0;
  uint64_t memory_bytes = 0;       // now, without page cache that can be dropped at once
  uint64_t memory_peak_bytes = 0;  // 0: this kernel does not tell
};

// Where this host's cgroup hierarchies are mounted.
struct CgroupMounts {
  std::map<std::string, std::string> v1;  // controller ("memory", "cpuacct") -> folder
  std::string v2;                         // folder; empty: not mounted
};

// From the text of /proc/self/mountinfo; mounts that show a part of a hierarchy only are left out.
// Pure.
CgroupMounts ParseCgroupMounts(std::string_view mountinfo);

// Pure parts: the numbers of files of both versions.
std::optional<uint64_t> StatValue(std::string_view text,
                                  std::string_view key);  // "key value" lines
CgroupFigures FiguresV1(std::string_view cpuacct_usage, std::string_view cpuacct_stat,
                        std::string_view memory_usage, std::string_view memory_max,
                        std::string_view memory_stat, int64_t ticks_per_second);
CgroupFigures FiguresV2(std::string_view cpu_stat, std::string_view memory_current,
                        std::string_view memory_peak, std::string_view memory_stat);

// The cgroup around one container: the Engine forgets what a container has used when it ends, its
// parent cgroup does not. The Engine makes it at the container's start; we read it, and remove it.
class RunCgroup {
 public:
  RunCgroup() = default;
  // `name` is unlike any other's. `info` tells version and driver.
  RunCgroup(const docker::EngineInfo& info, const std::string& owner, uint64_t number);

  // For the create call.
  const std::string& parent() const { return parent_; }
  // nullopt: not there (yet), or not to be seen from here.
  std::optional<CgroupFigures> Read() const;
  // Of the processes in the containers below.
  std::vector<pid_t> Pids() const;
  // When its containers are gone. Takes root: the Engine makes it at the top of the hierarchy. What
  // another agent leaves, its unit removes when it starts and stops.
  void Remove() const;
  // "cgroup v1 ...": what the figures are.
  std::string Basis() const;

 private:
  std::string Folder(const std::string& controller) const;

  bool v2_ = false;
  bool systemd_ = false;
  std::string parent_;  // as the Engine takes it
  std::string path_;    // below a mount
  CgroupMounts mounts_;
};

// Removes the cgroups that RunCgroup left behind in processes that are gone.
void RemoveLeftCgroups();

}  // namespace fetchbench::agent
