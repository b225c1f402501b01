#include "agent/process/open_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string_view>

namespace fetchbench::agent {
namespace {

constexpr int kCostShare = 100;

bool IsSocket(int dir, const char* name) {
  std::array<char, 16> target{};
  const ssize_t n = readlinkat(dir, name, target.data(), target.size());
  return n > 0 && std::string_view(target.data(), static_cast<size_t>(n)).starts_with("socket:");
}

void AddOpenFiles(pid_t pid, OpenFiles& sum) {
  DIR* dir = opendir(fmt::format("/proc/{}/fd", pid).c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    ++sum.files;
    if (IsSocket(dirfd(dir), entry->d_name)) ++sum.sockets;
  }
  closedir(dir);
}

}  // namespace

OpenFiles ReadOpenFiles(const std::vector<pid_t>& pids) {
  OpenFiles sum;
  for (const pid_t pid : pids) AddOpenFiles(pid, sum);
  return sum;
}

OpenFiles OpenFileCounter::Count(const std::vector<pid_t>& pids, SteadyTime now) {
  if (now < next_) return last_;
  const auto before = std::chrono::steady_clock::now();
  last_ = ReadOpenFiles(pids);
  next_ = now + kCostShare * (std::chrono::steady_clock::now() - before);
  return last_;
}

}  // namespace fetchbench::agent
