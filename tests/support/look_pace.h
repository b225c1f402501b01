#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace fetchbench::testing {

// Keeps those who attack a process to a share of bytes between two looks of the thread of it that
// watches over it, so that a test of the watching does not hang on who gets a CPU when: on a busy
// machine an attack of no pace is over before the watcher runs at all. Safe from any thread.
class LookPace {
 public:
  // `thread`: the watcher's name. `share`: bytes.
  LookPace(pid_t process, std::string_view thread, size_t share)
      : status_(StatusOf(process, thread)), share_(share), left_(share) {
    EXPECT_NE(status_, "") << "no thread " << thread;
  }

  // Before `bytes` are sent. Waits 20 s at most, and once: a process that is gone looks no more.
  void Spend(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (left_ < bytes) {
      // The first may be the end of a look that began before the last bytes came.
      const uint64_t enough = Sleeps() + 2;
      for (int i = 0; looks_ && Sleeps() < enough; ++i) {
        looks_ = i < 4'000;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      left_ = share_;
    }
    left_ -= std::min(left_, bytes);
  }

 private:
  static std::string StatusOf(pid_t process, std::string_view thread) {
    const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name == thread) return task.path() / "status";
    }
    return "";
  }

  // How often the watcher has gone to sleep, which it does after each look.
  uint64_t Sleeps() const {
    constexpr std::string_view kField = "\nvoluntary_ctxt_switches:\t";  // proc_pid_status(5)
    std::ifstream file(status_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t at = text.find(kField);
    uint64_t n = 0;
    if (at != std::string::npos) {
      std::from_chars(text.data() + at + kField.size(), text.data() + text.size(), n);
    }
    return n;
  }

  const std::string status_;
  const size_t share_;
  std::mutex mutex_;
  size_t left_;
  bool looks_ = true;
};

}  // namespace fetchbench::testing
