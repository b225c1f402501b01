#include "coordinator/run/run_once.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "coordinator/fleet/agent_credentials.h"
#include "coordinator/host/placement.h"
#include "coordinator/run/run_controller.h"
#include "coordinator/run/run_log.h"
#include "coordinator/run/take_up_run.h"
#include "coordinator/ui/log_sink.h"
#include "coordinator/ui/progress_display.h"
#include "coordinator/ui/terminal.h"

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

spdlog::sink_ptr SinkOf(ProgressDisplay& display, LogFormat format) {
  auto sink = std::make_shared<DisplayLogSink>(display);
  sink->set_formatter(MakeLogFormatter(format, kLogPattern));
  return sink;
}

// While it lives, log lines go through the display.
class LogThroughDisplay {
 public:
  LogThroughDisplay(ProgressDisplay& display, const RunOptions& options)
      : LogThroughDisplay(display, options.log_level,
                          ParseLogFormat(options.log_format).value_or(LogFormat::kText)) {}
  ~LogThroughDisplay() {
    spdlog::default_logger_raw()->set_level(level_before_);
    display_.SetLineFormat(nullptr);
  }
  LogThroughDisplay(const LogThroughDisplay&) = delete;
  LogThroughDisplay& operator=(const LogThroughDisplay&) = delete;

 private:
  LogThroughDisplay(ProgressDisplay& display, const std::string& level, LogFormat format)
      : display_(display),
        level_before_(spdlog::default_logger_raw()->level()),
        redirection_(SinkOf(display, format)) {
    spdlog::default_logger_raw()->set_level(spdlog::level::from_str(level));
    if (format != LogFormat::kJson) return;
    display_.SetLineFormat(
        [](std::string_view text) { return JsonLogLine("coordinator", "info", text); });
  }

  ProgressDisplay& display_;
  spdlog::level::level_enum level_before_;
  LogRedirection redirection_;
};

// Who reads JSON wants no lines of progress between, unless he asks for them.
ProgressMode ModeOf(const RunOptions& options, const Terminal& terminal) {
  const ProgressMode mode = *ParseProgressMode(options.progress, terminal);
  const bool chosen = options.progress != "auto" || mode == ProgressMode::kTerminal;
  return options.log_format == "json" && !chosen ? ProgressMode::kNone : mode;
}

RunResult RunOrResume(const RunOptions& options, RunPresentation presentation,
                      std::optional<TakenUpRun> taken_up) {
  Terminal terminal(STDERR_FILENO, ProcessEnvironment());
  ProgressDisplay display(terminal, ModeOf(options, terminal));
  const TextStyle stdout_style = Terminal(STDOUT_FILENO, ProcessEnvironment()).Style();
  const SystemClock clock;
  const LogThroughDisplay log(display, options);
  const std::vector<int> cpus = AllowedCpus();
  net::io_context loop(1);
  RunController controller(loop, options, clock, display, stdout_style, std::move(presentation),
                           std::move(taken_up));
  net::co_spawn(loop, controller.Run(), [&](const std::exception_ptr& bug) {
    if (bug) EndByBug(display, bug);
  });
  loop.run();
  PinThisThread(cpus);
  return controller.TakeResult();
}

}  // namespace

RunResult RunOnce(const RunOptions& options, RunPresentation presentation) {
  return RunOrResume(options, std::move(presentation), std::nullopt);
}

RunResult ResumeOnce(const ResumeOptions& options, const TargetRegistry& targets) {
  RunResult result;
  auto taken_up = TakeUpRun(options, targets);
  if (taken_up.ok()) {
    RunOptions of_run = OptionsOfResumed(taken_up->state, options);
    result.error = EquipAgents(of_run.credentials, of_run.agents);
    if (result.error.ok()) return RunOrResume(of_run, {}, *std::move(taken_up));
  } else {
    result.error = taken_up.status();
  }
  const bool usage = absl::IsNotFound(result.error) || absl::IsFailedPrecondition(result.error);
  result.code = usage ? ExitCode::kUsage : ExitCode::kInternalError;
  Complain(options.log_format, std::string(result.error.message()));
  return result;
}

}  // namespace fetchbench::coordinator
