// The coordinator: reads the command line, runs the command, exits with its code.

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/standard_streams.h"
#include "coordinator/cli/agents_command.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/import_command.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/targets.h"
#include "coordinator/run/placement.h"
#include "coordinator/run/run_controller.h"
#include "coordinator/ui/log_sink.h"

namespace fetchbench::coordinator {
namespace {

void Complain(const std::string& what) {
  WriteText(STDERR_FILENO, fmt::format("coordinator: {}\n", what)).IgnoreError();
}

ExitCode Print(const std::string& text) {
  const absl::Status written = WriteText(STDOUT_FILENO, text);
  if (written.ok()) return ExitCode::kDone;
  Complain("standard output: " + std::string(written.message()));
  return ExitCode::kInternalError;
}

ExitCode RunRun(const RunOptions& options) {
  Terminal terminal(STDERR_FILENO, ProcessEnvironment());
  ProgressDisplay display(terminal, *ParseProgressMode(options.progress, terminal));
  auto logger =
      std::make_shared<spdlog::logger>("coordinator", std::make_shared<DisplayLogSink>(display));
  logger->set_level(spdlog::level::from_str(options.log_level));
  logger->set_pattern("coordinator: %l: %v");
  spdlog::set_default_logger(logger);
  const TextStyle stdout_style = Terminal(STDOUT_FILENO, ProcessEnvironment()).Style();
  const SystemClock clock;
  net::io_context loop(1);
  RunController controller(loop, options, clock, display, stdout_style);
  ExitCode code = ExitCode::kInternalError;
  std::exception_ptr failure;
  net::co_spawn(loop, controller.Run(), [&](std::exception_ptr e, ExitCode result) {
    failure = std::move(e);
    code = result;
    if (failure) loop.stop();  // what else runs on it waits for an end that will not come
  });
  loop.run();
  spdlog::shutdown();
  if (failure) std::rethrow_exception(failure);
  return code;
}

ExitCode RunCommand(const Options& options) {
  switch (options.command) {
    case Command::kPrintText:
      return Print(options.text);
    case Command::kTargets:
      return Print(TargetsText());
    case Command::kRun:
      return RunRun(options.run);
    case Command::kAgents:
      return ListAgents(options.agents);
    case Command::kCancel:
      return CancelRuns(options.agents);
    case Command::kImportUrls:
      return ImportUrls(options.import);
  }
  return ExitCode::kInternalError;
}

}  // namespace
}  // namespace fetchbench::coordinator

int main(int argc, char** argv) {
  using namespace fetchbench;               // NOLINT(google-build-using-namespace): main only
  using namespace fetchbench::coordinator;  // NOLINT(google-build-using-namespace)
  OpenStandardStreams();
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto options = ParseOptions(arguments, ProcessEnvironment(), KnownTargets());
  if (!options.ok()) {
    Complain(std::string(options.status().message()));
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    return static_cast<int>(RunCommand(*options));
  } catch (const std::exception& e) {
    Complain(fmt::format("internal error: {}", e.what()));
    return static_cast<int>(ExitCode::kInternalError);
  }
}
