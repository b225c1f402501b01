#include "agent/process/cpu_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <numeric>
#include <optional>
#include <thread>

#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

std::optional<int> CpuNumber(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || value < 0 || value >= CPU_SETSIZE) return std::nullopt;
  return value;
}

bool AddRange(std::string_view range, std::vector<int>& cpus) {
  const size_t dash = range.find('-');
  const auto first = CpuNumber(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : CpuNumber(range.substr(dash + 1));
  if (!first || !last || *first > *last) return false;
  for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  return true;
}

// On a thread of its own: whoever asks keeps its CPUs.
std::vector<int> PossibleCpus() {
  std::vector<int> cpus;
  std::thread([&cpus] {
    std::vector<int> all(CPU_SETSIZE);
    std::iota(all.begin(), all.end(), 0);
    // The kernel takes those of them that there are, and that the control group has.
    const cpu_set_t set = CpuSet(all);
    if (sched_setaffinity(0, sizeof set, &set) == 0) cpus = AllowedCpus();
  }).join();
  return cpus;
}

}  // namespace

absl::StatusOr<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const bool ends_with_comma = comma != std::string_view::npos && comma + 1 == rest.size();
    if (ends_with_comma || !AddRange(rest.substr(0, comma), cpus)) {
      return absl::InvalidArgumentError(
          fmt::format("CPU list '{}': write numbers and ranges, as in 0,2-3", text));
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

absl::Status CheckCpus(std::string_view option, const std::vector<int>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  const std::vector<int> possible = PossibleCpus();
  std::vector<int> missing;
  std::set_difference(cpus.begin(), cpus.end(), possible.begin(), possible.end(),
                      std::back_inserter(missing));
  // Where the kernel does not tell, what uses them finds out.
  if (missing.empty() || possible.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: there is no CPU {} here; those that this agent may use are {}", option,
                  missing.back(), fmt::join(possible, ",")));
}

cpu_set_t CpuSet(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

absl::Status RestrictTo(const std::vector<int>& cpus) {
  const cpu_set_t set = CpuSet(cpus);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return FromErrno(errno, fmt::format("pinning to CPUs {}", fmt::join(cpus, ",")));
}

}  // namespace fetchbench::agent
