#include "agent/container/cgroup_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "common/docker/owner.h"
#include "common/files.h"

namespace fetchbench::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNamePrefix = "fetchbench-";
constexpr std::string_view kSliceSuffix = ".slice";

uint64_t Number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

uint64_t Without(uint64_t whole, uint64_t part) { return whole > part ? whole - part : 0; }

// A systemd slice's name holds its parents between dashes, so an owner's dashes become underscores.
std::string Swap(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

// All folders in which RunCgroup's may be.
std::set<std::string> Roots(const CgroupMounts& mounts) {
  std::set<std::string> roots;
  for (const auto& [controller, folder] : mounts.v1) {
    roots.insert(folder);
    roots.insert(folder + "/fetchbench.slice");
  }
  if (!mounts.v2.empty()) {
    roots.insert(mounts.v2);
    roots.insert(mounts.v2 + "/fetchbench.slice");
  }
  return roots;
}

// "fetchbench-OWNER-NUMBER" -> OWNER; empty: another name.
std::string OwnerOf(std::string name) {
  if (!name.starts_with(kNamePrefix)) return {};
  name.erase(0, kNamePrefix.size());
  if (name.ends_with(kSliceSuffix)) {
    name.erase(name.size() - kSliceSuffix.size());
    name = Swap(std::move(name), '_', '-');
  }
  const size_t number = name.rfind('-');
  return number == std::string::npos ? std::string() : name.substr(0, number);
}

}  // namespace

CgroupMounts ParseCgroupMounts(std::string_view mountinfo) {
  CgroupMounts mounts;
  std::istringstream in{std::string(mountinfo)};
  std::string line;
  while (std::getline(in, line)) {
    // ID PARENT DEVICE ROOT FOLDER OPTIONS [FIELDS...] - TYPE SOURCE SUPER_OPTIONS
    const std::vector<std::string> words = Words(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 10 || std::distance(dash, words.end()) < 4 || words[3] != "/") continue;
    const std::string& type = *(dash + 1);
    const std::string& folder = words[4];
    if (type == "cgroup2") mounts.v2 = folder;
    if (type != "cgroup") continue;
    std::istringstream options(*(dash + 3));
    std::string option;
    while (std::getline(options, option, ',')) {
      if (option != "rw" && option != "ro") mounts.v1.emplace(option, folder);
    }
  }
  return mounts;
}

std::optional<uint64_t> StatValue(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return Number(line.substr(key.size() + 1));
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return std::nullopt;
}

CgroupFigures FiguresV1(std::string_view cpuacct_usage, std::string_view cpuacct_stat,
                        std::string_view memory_usage, std::string_view memory_max,
                        std::string_view memory_stat, int64_t ticks_per_second) {
  CgroupFigures figures;
  // The sum is exact; how it divides is known in clock ticks only.
  const uint64_t total_us = Number(cpuacct_usage) / 1'000;
  const uint64_t user_ticks = StatValue(cpuacct_stat, "user").value_or(0);
  const uint64_t ticks = user_ticks + StatValue(cpuacct_stat, "system").value_or(0);
  const auto us_per_tick =
      static_cast<uint64_t>(1'000'000 / std::max<int64_t>(1, ticks_per_second));
  const double share = ticks == 0 ? 1.0 : static_cast<double>(user_ticks) / ticks;
  figures.user_us = total_us == 0 ? user_ticks * us_per_tick
                                  : static_cast<uint64_t>(static_cast<double>(total_us) * share);
  figures.system_us =
      total_us == 0 ? (ticks - user_ticks) * us_per_tick : total_us - figures.user_us;
  figures.memory_bytes =
      Without(Number(memory_usage), StatValue(memory_stat, "total_inactive_file").value_or(0));
  figures.memory_peak_bytes = Number(memory_max);
  return figures;
}

CgroupFigures FiguresV2(std::string_view cpu_stat, std::string_view memory_current,
                        std::string_view memory_peak, std::string_view memory_stat) {
  CgroupFigures figures;
  figures.user_us = StatValue(cpu_stat, "user_usec").value_or(0);
  figures.system_us = StatValue(cpu_stat, "system_usec").value_or(0);
  figures.memory_bytes =
      Without(Number(memory_current), StatValue(memory_stat, "inactive_file").value_or(0));
  figures.memory_peak_bytes = Number(memory_peak);
  return figures;
}

RunCgroup::RunCgroup(const docker::EngineInfo& info, const std::string& owner, uint64_t number)
    : v2_(info.cgroup_version == "2"),
      systemd_(info.cgroup_driver == "systemd"),
      mounts_(ParseCgroupMounts(ReadWholeFile("/proc/self/mountinfo"))) {
  const std::string id = fmt::format("{}-{}", owner, number);
  if (systemd_) {
    parent_ = fmt::format("{}{}{}", kNamePrefix, Swap(id, '-', '_'), kSliceSuffix);
    path_ = fmt::format("/fetchbench{}/{}", kSliceSuffix, parent_);
  } else {
    parent_ = fmt::format("/{}{}", kNamePrefix, id);
    path_ = parent_;
  }
}

std::string RunCgroup::Folder(const std::string& controller) const {
  if (v2_) return mounts_.v2.empty() ? std::string() : mounts_.v2 + path_;
  const auto it = mounts_.v1.find(controller);
  return it == mounts_.v1.end() ? std::string() : it->second + path_;
}

std::optional<CgroupFigures> RunCgroup::Read() const {
  const std::string cpu = Folder("cpuacct");
  const std::string memory = Folder("memory");
  if (parent_.empty() || cpu.empty() || access(cpu.c_str(), R_OK) != 0) return std::nullopt;
  if (v2_) {
    return FiguresV2(ReadWholeFile(cpu + "/cpu.stat"), ReadWholeFile(cpu + "/memory.current"),
                     ReadWholeFile(cpu + "/memory.peak"), ReadWholeFile(cpu + "/memory.stat"));
  }
  return FiguresV1(ReadWholeFile(cpu + "/cpuacct.usage"), ReadWholeFile(cpu + "/cpuacct.stat"),
                   ReadWholeFile(memory + "/memory.usage_in_bytes"),
                   ReadWholeFile(memory + "/memory.max_usage_in_bytes"),
                   ReadWholeFile(memory + "/memory.stat"), sysconf(_SC_CLK_TCK));
}

std::vector<pid_t> RunCgroup::Pids() const {
  std::vector<pid_t> pids;
  const std::string folder = Folder("cpuacct");
  std::error_code error;
  if (parent_.empty() || folder.empty()) return pids;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) continue;
    std::istringstream in(ReadWholeFile(entry.path().string() + "/cgroup.procs"));
    std::copy(std::istream_iterator<pid_t>(in), {}, std::back_inserter(pids));
  }
  return pids;
}

void RunCgroup::Remove() const {
  if (parent_.empty() || systemd_) return;  // systemd drops its slices itself
  for (const auto& [controller, folder] : mounts_.v1) rmdir((folder + path_).c_str());
  if (!mounts_.v2.empty()) rmdir((mounts_.v2 + path_).c_str());
}

std::string RunCgroup::Basis() const {
  const std::string_view peak = v2_ ? "memory.peak" : "memory.max_usage_in_bytes";
  std::string text = fmt::format(
      "cgroup v{} of the container; peak ({}) includes page cache, kernel memory and /tmp",
      v2_ ? 2 : 1, peak);
  if (systemd_) text += "; read last before its end";
  return text;
}

void RemoveLeftCgroups() {
  for (const std::string& root : Roots(ParseCgroupMounts(ReadWholeFile("/proc/self/mountinfo")))) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
      const std::string owner = OwnerOf(entry.path().filename().string());
      if (owner.empty() || docker::StateOf(owner) != docker::OwnerState::kGone) continue;
      rmdir(entry.path().c_str());  // fails, rightly, while something is in it
    }
  }
}

}  // namespace fetchbench::agent
