#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fetchbench::agent {

// Memory of the daemon above which it hangs up on its peers, where the host has plenty. An honest
// run at the bounds of UrlBook stays below; docs/operations.md has figures.
inline constexpr uint64_t kMemoryLimitBytes = uint64_t{512} << 20;

// No limit is below: an agent without anything to do has about 30 MiB.
inline constexpr uint64_t kLeastMemoryLimitBytes = uint64_t{64} << 20;

// What this host and the control group of this process let it have, 0 when neither can be told.
// `host_bytes`: the host's memory, 0 when unknown.
uint64_t MemoryToHave(uint64_t host_bytes);

// The smallest limit of the control groups that `proc_self_cgroup` (the text of /proc/self/cgroup)
// names, and of those around them; `root`: where they are mounted. 0: there is none.
uint64_t CgroupMemoryLimit(std::string_view proc_self_cgroup, const std::string& root);

// What is to be said of a limit that somebody chose: it is above `to_have` (0: not known). Empty:
// nothing.
std::string DoubtMemoryLimit(uint64_t limit_bytes, uint64_t to_have);

// The limit where nobody chose one: half of `to_have`, because targets and image builds need the
// rest, kMemoryLimitBytes at most, and never so little that an agent without a peer has more.
// 0, none: a sanitizer keeps what is freed, so memory would say nothing.
uint64_t DefaultMemoryLimit(uint64_t to_have);

}  // namespace fetchbench::agent
