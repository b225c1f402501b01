// fetchbench-native: URLs on standard input, one record line each on standard output.

#include <unistd.h>

#include <string>

#include "agent/native/describe.h"
#include "agent/native/options.h"
#include "agent/native/runner.h"
#include "common/standard_streams.h"

namespace {

constexpr const char* kProgram = "fetchbench-native";

int End(const fetchbench::native::EarlyExit& early) {
  if (early.code == 0) return fetchbench::PrintOutput(kProgram, early.text);
  fetchbench::WriteText(STDERR_FILENO, early.text).IgnoreError();
  return early.code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fetchbench::native;
  fetchbench::OpenStandardStreams();
  const auto parsed = ParseOptions(argc, argv);
  if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
    return End(*early);
  }
  const auto& options = std::get<Options>(parsed);
  if (options.describe) {
    return fetchbench::PrintOutput(kProgram, DescribeTarget() + "\n");
  }
  return RunTarget(options);
}
