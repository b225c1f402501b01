#include "agent/cpu_sampler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "agent/process/proc_usage.h"
#include "common/files.h"

namespace fetchbench::agent {
namespace {

// user nice system idle iowait irq softirq steal; guest times are part of user (proc(5)).
constexpr int kFields = 8;
constexpr int kIdle = 3;
constexpr int kIoWait = 4;
constexpr int kSteal = 7;

std::optional<uint64_t> TakeNumber(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

void AddLine(std::string_view line, CpuTable& table) {
  if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') return;  // "cpu " is the sum
  line.remove_prefix(3);
  const auto cpu = TakeNumber(line);
  if (!cpu) return;
  CpuTicks ticks;
  for (int field = 0; field < kFields; ++field) {
    const uint64_t value = TakeNumber(line).value_or(0);
    ticks.total += value;
    if (field == kIdle || field == kIoWait) ticks.idle += value;
    if (field == kSteal) ticks.steal = value;
  }
  table[static_cast<int>(*cpu)] = ticks;
}

// Counters of idle time may run backwards a little.
uint64_t Delta(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

uint32_t Permille(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<uint32_t>(std::min<uint64_t>(1000, part * 1000 / whole));
}

CpuTable ReadCpuTable() { return ParseCpuTable(ReadWholeFile("/proc/stat")); }

}  // namespace

CpuTable ParseCpuTable(std::string_view text) {
  CpuTable table;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    AddLine(text.substr(0, end), table);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return table;
}

CpuLoad LoadBetween(const CpuTable& before, const CpuTable& after,
                    const std::vector<int>& target_cpus) {
  CpuLoad load;
  uint64_t all = 0;
  uint64_t stolen = 0;
  for (const auto& [cpu, now] : after) {
    const auto it = before.find(cpu);
    if (it == before.end()) continue;
    const uint64_t total = Delta(it->second.total, now.total);
    const uint64_t idle = std::min(total, Delta(it->second.idle, now.idle));
    const uint64_t steal = Delta(it->second.steal, now.steal);
    all += total;
    stolen += steal;
    const bool of_target = target_cpus.empty() || std::find(target_cpus.begin(), target_cpus.end(),
                                                            cpu) != target_cpus.end();
    uint32_t& busiest = of_target ? load.target_busy : load.other_busy;
    busiest = std::max(busiest, Permille(total - idle, total));
  }
  load.steal = Permille(stolen, all);
  return load;
}

CpuSampler::CpuSampler(std::vector<int> target_cpus)
    : target_cpus_(std::move(target_cpus)), last_(ReadCpuTable()) {}

CpuLoad CpuSampler::Sample() {
  CpuTable now = ReadCpuTable();
  const CpuLoad load = LoadBetween(last_, now, target_cpus_);
  last_ = std::move(now);
  return load;
}

OwnUsage ReadOwnUsage() {
  OwnUsage own;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const TargetUsage times = FinalUsage(usage);
    own.cpu_us = times.user_us + times.system_us;
  }
  own.rss_bytes = StatusBytes(ReadWholeFile("/proc/self/status"), "VmRSS");
  return own;
}

}  // namespace fetchbench::agent
