#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "agent/native/worker.h"

namespace fetchbench::native {

enum class IpVersion { kAuto, kV4, kBoth };

struct Options {
  size_t concurrency = 10;
  std::chrono::milliseconds timeout{5000};
  std::string user_agent;
  size_t threads = 0;  // 0: one for each CPU of the affinity mask
  RecordFormat format = RecordFormat::kPlain;
  std::string resolver;  // "address:port", or empty for the system's
  std::vector<std::string> connect_to;
  std::string ca_file;
  uint64_t max_body = uint64_t{256} << 20;  // bytes
  int max_redirects = 10;
  bool deny_private = false;
  IpVersion ip_version = IpVersion::kAuto;
  bool describe = false;
};

// Nothing to run: print `text` (help or version on standard output, an error on standard error) and
// exit with `code`.
struct EarlyExit {
  int code = 0;
  std::string text;
};

// Reads the command line and the environment (an option wins). Checks ranges, not the world.
std::variant<Options, EarlyExit> ParseOptions(int argc, const char* const* argv);

}  // namespace fetchbench::native
