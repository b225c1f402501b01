#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fetchbench::agent {

struct Options {
  std::string listen = "127.0.0.1:7311";
  std::string credentials;       // folder; empty: SecureListener's default
  std::string native;            // empty: fetchbench-native beside this program
  std::vector<int> target_cpus;  // empty: targets are not pinned
  std::vector<int> cpus;         // empty: the daemon is not pinned
  std::chrono::milliseconds orphan_timeout{600'000};
  // Of image builds.
  std::string build_network;        // empty: guarded if that is possible
  double build_cpus = 0;            // 0: all that the daemon has
  uint64_t build_memory_bytes = 0;  // 0: 4 GiB, or the host's if that is less
  std::chrono::milliseconds build_time{1'800'000};
  bool require_guard = false;
  bool exit_with_parent = false;
  // Of this daemon alone; above it all peers are hung up on. 0: see DefaultMemoryLimit.
  uint64_t memory_limit_bytes = 0;
  std::string metrics;  // where Prometheus finds its figures; empty: nowhere
  std::string log_level = "info";
  std::string log_format = "text";  // or "json"
};

// The command line. Without options (help, version, a mistake) what was to be said is printed
// already, and `exit_code` is the program's.
struct ParsedOptions {
  std::optional<Options> options;
  int exit_code = 0;
};
ParsedOptions ParseOptions(int argc, const char* const* argv, const std::string& version);

}  // namespace fetchbench::agent
