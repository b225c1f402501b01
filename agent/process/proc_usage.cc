#include "agent/process/proc_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "common/files.h"

namespace fetchbench::agent {
namespace {

// The n-th blank-separated word, from 0.
std::optional<uint64_t> NumberAt(std::string_view text, int n) {
  for (int i = 0; i < n; ++i) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    text.remove_prefix(blank + 1);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

uint64_t Us(const timeval& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000 + static_cast<uint64_t>(t.tv_usec);
}

}  // namespace

std::string ReadProc(pid_t pid, std::string_view name) {
  return ReadWholeFile(fmt::format("/proc/{}/{}", pid, name));
}

std::optional<CpuTimes> ParseProcStat(std::string_view text, int64_t ticks_per_second) {
  // The program's name is in parentheses and may hold blanks and parentheses itself: fields are
  // counted from the last one. utime and stime are fields 14 and 15 of proc(5), state is field 3.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size() || ticks_per_second <= 0) {
    return std::nullopt;
  }
  const std::string_view fields = text.substr(name_end + 2);
  const auto user = NumberAt(fields, 11);
  const auto system = NumberAt(fields, 12);
  if (!user || !system) return std::nullopt;
  const auto us_per_tick = static_cast<uint64_t>(1'000'000 / ticks_per_second);
  return CpuTimes{*user * us_per_tick, *system * us_per_tick};
}

std::optional<CpuTimes> CpuTimesOf(pid_t pid) {
  return ParseProcStat(ReadProc(pid, "stat"), sysconf(_SC_CLK_TCK));
}

uint64_t StatusBytes(std::string_view text, std::string_view field) {
  const std::string key = fmt::format("{}:", field);
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + key.size());
  const size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  text.remove_prefix(digits);
  uint64_t kib = 0;
  std::from_chars(text.data(), text.data() + text.size(), kib);
  return kib * 1024;
}

TargetUsage LiveUsage(pid_t pid) {
  TargetUsage usage;
  if (const auto times = CpuTimesOf(pid)) {
    usage.user_us = times->user_us;
    usage.system_us = times->system_us;
  }
  const std::string status = ReadProc(pid, "status");
  usage.rss_bytes = StatusBytes(status, "VmRSS");
  usage.peak_rss_bytes = StatusBytes(status, "VmHWM");
  return usage;
}

uint64_t PeakMemory(pid_t pid) { return StatusBytes(ReadProc(pid, "status"), "VmHWM"); }

TargetUsage FinalUsage(const rusage& usage) {
  TargetUsage result;
  result.user_us = Us(usage.ru_utime);
  result.system_us = Us(usage.ru_stime);
  return result;
}

}  // namespace fetchbench::agent
