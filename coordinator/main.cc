// The coordinator: reads the command line, runs the command, exits with its code.

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
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

// A coroutine of the run threw, which none should. The others wait for what will never come, so
// nothing is waited for; the children die with this thread.
[[noreturn]] void EndByBug(ProgressDisplay& display, const std::exception_ptr& bug) {
  try {
    std::rethrow_exception(bug);
  } catch (const std::exception& e) {
    display.Log(fmt::format("coordinator: internal error: {}", e.what()));
  }
  display.Finish(LastFrame::kKeep);
  std::_Exit(static_cast<int>(ExitCode::kInternalError));
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
  net::co_spawn(loop, controller.Run(), [&](const std::exception_ptr& e, ExitCode result) {
    if (e) EndByBug(display, e);
    code = result;
  });
  loop.run();
  spdlog::shutdown();
  return code;
}

ExitCode RunCommand(const Options& options) {
  switch (options.command) {
    case Command::kPrintText:
      fmt::print("{}", options.text);
      return ExitCode::kDone;
    case Command::kTargets:
      fmt::print("{}", TargetsText());
      return ExitCode::kDone;
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
  using namespace fetchbench::coordinator;  // NOLINT(google-build-using-namespace): main only
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto options = ParseOptions(arguments, ProcessEnvironment(), KnownTargets());
  if (!options.ok()) {
    fmt::print(stderr, "coordinator: {}\n", std::string(options.status().message()));
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    return static_cast<int>(RunCommand(*options));
  } catch (const std::exception& e) {
    fmt::print(stderr, "coordinator: internal error: {}\n", e.what());
    return static_cast<int>(ExitCode::kInternalError);
  }
}
