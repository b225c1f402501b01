// fetchbench-native: URLs on standard input, one record line each on standard output.

#include <fmt/format.h>

#include <cstdio>

#include "agent/native/describe.h"
#include "agent/native/options.h"
#include "agent/native/runner.h"

int main(int argc, char** argv) {
  using namespace fetchbench::native;
  const auto parsed = ParseOptions(argc, argv);
  if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
    fmt::print(early->code == 0 ? stdout : stderr, "{}", early->text);
    return early->code;
  }
  const auto& options = std::get<Options>(parsed);
  if (options.describe) {
    fmt::print("{}\n", DescribeTarget());
    return 0;
  }
  return RunTarget(options);
}
