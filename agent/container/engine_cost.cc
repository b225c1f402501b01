#include "agent/container/engine_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "agent/process/proc_usage.h"

namespace fetchbench::agent {
namespace {

namespace fs = std::filesystem;

uint64_t CpuUsOf(pid_t pid) {
  const auto times = CpuTimesOf(pid);
  return times ? times->user_us + times->system_us : 0;
}

std::string Name(pid_t pid) {
  std::string name = ReadProc(pid, "comm");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

std::vector<pid_t> FindProcesses(const std::function<bool(pid_t)>& wanted) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad == std::errc() && end == name.data() + name.size() && wanted(pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace

EngineCost EngineCost::Begin(pid_t engine_pid) {
  EngineCost cost;
  // A socket that systemd opened has systemd behind it: then daemons are known by name.
  const bool known = engine_pid > 0 && Name(engine_pid) == "dockerd";
  const std::vector<pid_t> found = FindProcesses([known](pid_t pid) {
    const std::string name = Name(pid);
    return name == "containerd" || (!known && name == "dockerd");
  });
  for (const pid_t pid : found) cost.processes_[pid] = {CpuUsOf(pid), 0};
  if (known) cost.processes_[engine_pid] = {CpuUsOf(engine_pid), 0};
  return cost;
}

void EngineCost::AddShim(const std::string& container_id) {
  const std::vector<pid_t> found = FindProcesses([&container_id](pid_t pid) {
    return Name(pid).starts_with("containerd-shim") &&
           ReadProc(pid, "cmdline").find(container_id) != std::string::npos;
  });
  for (const pid_t pid : found) processes_[pid] = {};
}

void EngineCost::Restart() {
  for (auto& [pid, seen] : processes_) seen = {CpuUsOf(pid), 0};
}

uint64_t EngineCost::CpuUs() {
  uint64_t sum = 0;
  for (auto& [pid, seen] : processes_) {
    seen.last_us = std::max(seen.last_us, CpuUsOf(pid));
    sum += seen.last_us - std::min(seen.last_us, seen.before_us);
  }
  return sum;
}

}  // namespace fetchbench::agent
