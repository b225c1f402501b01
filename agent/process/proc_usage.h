#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/target_process.h"

namespace fetchbench::agent {

// The text of /proc/PID/NAME; empty when the process is gone.
std::string ReadProc(pid_t pid, std::string_view name);

// From the text of /proc/PID/stat: user and system time; nullopt when it is not such a text. Pure.
struct CpuTimes {
  uint64_t user_us = 0;
  uint64_t system_us = 0;
};
std::optional<CpuTimes> ParseProcStat(std::string_view text, int64_t ticks_per_second);
// Of a process; nullopt when it is gone.
std::optional<CpuTimes> CpuTimesOf(pid_t pid);

// From the text of /proc/PID/status: "VmRSS" and the like in bytes; 0 when it is not there (a
// zombie has no memory). Pure.
uint64_t StatusBytes(std::string_view text, std::string_view field);

// Live CPU and memory of a process; zeros when it is gone.
TargetUsage LiveUsage(pid_t pid);

// Its peak memory alone, which is cheap to ask for; 0 when it is gone.
uint64_t PeakMemory(pid_t pid);

// From wait4's books. Its peak memory is left out on purpose: ru_maxrss of a child starts with the
// size of the process that forked it, so a small target would seem as large as the daemon.
TargetUsage FinalUsage(const rusage& usage);

}  // namespace fetchbench::agent
