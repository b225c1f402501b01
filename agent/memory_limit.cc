#include "agent/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/files.h"

namespace fetchbench::agent {
namespace {

void Lower(uint64_t& least, uint64_t value) {
  if (value != 0 && (least == 0 || value < least)) least = value;
}

// 0: there is no such file, or no limit in it ("max").
uint64_t LimitIn(const std::string& file) {
  const std::string text = ReadWholeFile(file);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Where a line of /proc/self/cgroup ("ID:CONTROLLERS:PATH") has its limits of memory.
struct Place {
  std::string_view folder;  // below the root
  std::string_view file;
  std::string_view path;
};
std::optional<Place> PlaceOf(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string_view path = line.substr(second + 1);
  if (controllers.empty()) return Place{"", "/memory.max", path};
  if (controllers == "memory") return Place{"/memory", "/memory.limit_in_bytes", path};
  return std::nullopt;
}

}  // namespace

uint64_t CgroupMemoryLimit(std::string_view proc_self_cgroup, const std::string& root) {
  uint64_t least = 0;
  while (!proc_self_cgroup.empty()) {
    const size_t end = proc_self_cgroup.find('\n');
    const std::optional<Place> place = PlaceOf(proc_self_cgroup.substr(0, end));
    proc_self_cgroup.remove_prefix(end == std::string_view::npos ? proc_self_cgroup.size()
                                                                 : end + 1);
    if (!place) continue;
    // In a container the path may be one of the host's, and the root is what counts then.
    std::string path(place->path);
    while (true) {
      while (path.ends_with('/')) path.pop_back();
      std::string file = root;
      file.append(place->folder).append(path).append(place->file);
      Lower(least, LimitIn(file));
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

uint64_t MemoryToHave(uint64_t host_bytes) {
  uint64_t least = host_bytes;
  Lower(least, CgroupMemoryLimit(ReadWholeFile("/proc/self/cgroup"), "/sys/fs/cgroup"));
  return least;
}

std::string DoubtMemoryLimit(uint64_t limit_bytes, uint64_t to_have) {
  if (to_have == 0 || limit_bytes <= to_have) return {};
  return fmt::format(
      "--memory-limit {} is more than this host or the agent's control group has: {} MiB. The "
      "kernel would end the agent before that limit is reached; give it half of what there is",
      limit_bytes >> 20, to_have >> 20);
}

uint64_t DefaultMemoryLimit(uint64_t to_have) {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#endif
  if (to_have == 0) return kMemoryLimitBytes;
  return std::clamp(to_have / 2, kLeastMemoryLimitBytes, kMemoryLimitBytes);
}

}  // namespace fetchbench::agent
