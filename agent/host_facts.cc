#include "agent/host_facts.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "common/boot_id.h"
#include "common/files.h"
#include "common/utf8.h"

namespace fetchbench::agent {
namespace {

// The rest of the first line that starts with `key`, without blanks, quotes and separators around
// it.
std::string ValueOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    constexpr std::string_view kAround = " \t:=\"'\r";
    const size_t first = line.find_first_not_of(kAround);
    if (first == std::string_view::npos) return {};
    return ValidUtf8(line.substr(first, line.find_last_not_of(kAround) + 1 - first));
  }
  return {};
}

}  // namespace

std::string OsName(std::string_view os_release) { return ValueOf(os_release, "PRETTY_NAME="); }

std::string CpuModel(std::string_view cpuinfo) { return ValueOf(cpuinfo, "model name"); }

uint32_t LoadPermille() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? static_cast<uint32_t>(minute * 1000) : 0;
}

v1::HostFacts ReadHostFacts(const std::vector<int>& cpus, const std::vector<int>& target_cpus) {
  v1::HostFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.set_hostname(ValidUtf8(names.nodename));
    facts.set_kernel(ValidUtf8(fmt::format("{} {}", names.sysname, names.release)));
    facts.set_architecture(ValidUtf8(names.machine));
  }
  facts.set_boot_id(ValidUtf8(BootId()));
  facts.set_cpu_model(CpuModel(ReadWholeFile("/proc/cpuinfo")));
  facts.set_cpus(static_cast<uint32_t>(cpus.size()));
  struct sysinfo info {};
  if (sysinfo(&info) == 0)
    facts.set_memory_bytes(static_cast<uint64_t>(info.totalram) * info.mem_unit);
  facts.set_os(OsName(ReadWholeFile("/etc/os-release")));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.set_max_open_files(limit.rlim_max);
  for (const int cpu : target_cpus) facts.add_target_cpus(static_cast<uint32_t>(cpu));
  return facts;
}

}  // namespace fetchbench::agent
