#pragma once

#include <chrono>
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
  std::string build_network;  // of image builds; empty: the Engine's default
  bool exit_with_parent = false;
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
