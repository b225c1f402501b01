// fetchbench-native: URLs on standard input, one record line each on standard output.

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "agent/native/describe.h"
#include "agent/native/options.h"
#include "agent/native/runner.h"
#include "common/standard_streams.h"

namespace {

constexpr int kCannotPrint = 1;

// `code` for main, or another when the text could not be printed where somebody waits for it.
int Print(int fd, std::string_view text, int code) {
  const absl::Status written = fetchbench::WriteText(fd, text);
  if (written.ok() || fd == STDERR_FILENO) return code;
  fetchbench::WriteText(STDERR_FILENO, fmt::format("fetchbench-native: standard output: {}\n",
                                                   std::string(written.message())))
      .IgnoreError();
  return kCannotPrint;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fetchbench::native;
  fetchbench::OpenStandardStreams();
  const auto parsed = ParseOptions(argc, argv);
  if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
    return Print(early->code == 0 ? STDOUT_FILENO : STDERR_FILENO, early->text, early->code);
  }
  const auto& options = std::get<Options>(parsed);
  if (options.describe) {
    return Print(STDOUT_FILENO, DescribeTarget() + "\n", 0);
  }
  return RunTarget(options);
}
