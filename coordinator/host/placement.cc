#include "coordinator/host/placement.h"

#include <fmt/format.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>

namespace fetchbench::coordinator {

Placement Place(const std::vector<int>& allowed) {
  if (allowed.size() < 2) return {};
  return {{allowed.back()}, {allowed.begin(), allowed.end() - 1}};
}

std::vector<int> AllCpusOf(const Placement& placement) {
  std::vector<int> cpus = placement.others;
  cpus.insert(cpus.end(), placement.target.begin(), placement.target.end());
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::string CpuListText(const std::vector<int>& cpus) {
  std::string out;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return out;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &set)) cpus.push_back(i);
  }
  return cpus;
}

void PinThisThread(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    spdlog::warn("cannot keep to CPUs {}: the target will not be alone on its CPU",
                 CpuListText(cpus));
  }
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace fetchbench::coordinator
