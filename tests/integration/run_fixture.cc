#include "tests/integration/run_fixture.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace fetchbench::test {
namespace {

struct ProcessState {
  pid_t parent = 0;
  char state = 'X';
};

// From /proc/PID/stat: "pid (name) state parent ...".
std::optional<ProcessState> StateOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const size_t paren = text.rfind(')');
  if (paren == std::string::npos) return std::nullopt;
  ProcessState result;
  result.state = text[paren + 2];
  std::from_chars(text.data() + paren + 4, text.data() + text.size(), result.parent);
  return result;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

bool IsAlive(pid_t pid) {
  const auto state = StateOf(pid);
  return state && state->state != 'Z' && state->state != 'X';
}

}  // namespace

std::vector<pid_t> Descendants(pid_t pid) {
  std::vector<pid_t> found{pid};
  const std::vector<pid_t> all = AllProcesses();
  for (size_t i = 0; i < found.size(); ++i) {
    for (const pid_t candidate : all) {
      const auto state = StateOf(candidate);
      if (state && state->parent == found[i]) found.push_back(candidate);
    }
  }
  found.erase(found.begin());
  return found;
}

std::string ProgramOf(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

std::vector<pid_t> StillAlive(std::vector<pid_t> pids) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    std::erase_if(pids, [](pid_t pid) { return !IsAlive(pid); });
    if (pids.empty() || std::chrono::steady_clock::now() > deadline) return pids;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace fetchbench::test
