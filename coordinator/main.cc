// The coordinator: reads the command line, runs the command, exits with its code.

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

#include "common/grpc_log.h"
#include "common/grpc_tls.h"
#include "common/log.h"
#include "common/standard_streams.h"
#include "coordinator/bench/bench_command.h"
#include "coordinator/cli/agents_command.h"
#include "coordinator/cli/engine_need.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/import_command.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/print_output.h"
#include "coordinator/fleet/agent_credentials.h"
#include "coordinator/fleet/use_inventory.h"
#include "coordinator/host/placement.h"
#include "coordinator/run/run_log.h"
#include "coordinator/run/run_metrics.h"
#include "coordinator/run/run_once.h"
#include "coordinator/targets/target_registry.h"
#include "coordinator/targets/targets_table.h"
#include "coordinator/ui/terminal.h"
#include "coordinator/ui/text.h"
#include "coordinator/verify/verify_command.h"

namespace fetchbench::coordinator {
namespace {

void Complain(const std::string& what) {
  WriteText(STDERR_FILENO, fmt::format("coordinator: {}\n", what)).IgnoreError();
}

// Kept apart from what was asked for: a bad target.json is nobody's fault who names another.
void ReportProblems(const TargetRegistry& targets) {
  for (const std::string& problem : targets.problems()) {
    Complain(Harmless(problem));
  }
}

ExitCode ListTargets(const TargetRegistry& targets) {
  ReportProblems(targets);
  const ExitCode printed =
      PrintOutput(TargetsText(targets, Terminal(STDOUT_FILENO, ProcessEnvironment()).Style()));
  if (printed != ExitCode::kDone) return printed;
  return targets.problems().empty() ? ExitCode::kDone : ExitCode::kUsage;
}

// Of a run that is resumed they are known later.
absl::Status Equip(Options& options) {
  const CredentialsFolders& folders = options.run.credentials;
  switch (options.command) {
    case Command::kRun:
      return EquipAgents(folders, options.run.agents);
    case Command::kBench:
      return EquipAgents(folders, options.bench.run.agents);
    case Command::kVerify:
      return EquipAgents(folders, options.verify.run.agents);
    case Command::kAgents:
    case Command::kCancel:
      return EquipAgents(folders, options.agents);
    default:
      return absl::OkStatus();
  }
}

// Serves figures for Prometheus from now on, if they were asked for.
absl::Status ServeMetrics(Options& options) {
  const bool resumes = options.command == Command::kResume;
  const std::string& address = resumes ? options.resume.metrics : options.run.metrics;
  if (address.empty()) return absl::OkStatus();
  const auto meter = RunMetrics::Start(address);
  if (!meter.ok()) return meter.status();
  spdlog::info("metrics are at {}", (*meter)->url());
  options.run.meter = options.bench.run.meter = options.verify.run.meter = options.resume.meter =
      *meter;
  return absl::OkStatus();
}

ExitCode TellEngineNeed(const Options& options, const TargetRegistry& targets) {
  const absl::StatusOr<std::string> answer = AnswerEngineQuestion(options, targets);
  if (answer.ok()) return PrintOutput(*answer);
  Complain(std::string(answer.status().message()));
  return ExitCode::kUsage;
}

ExitCode RunCommand(const Options& options, const TargetRegistry& targets) {
  switch (options.command) {
    case Command::kPrintText:
      return PrintOutput(options.text);
    case Command::kTargets:
      return ListTargets(targets);
    case Command::kRun:
      return RunOnce(options.run).code;
    case Command::kResume:
      return ResumeOnce(options.resume, targets).code;
    case Command::kBench:
      if (options.bench.names.empty()) ReportProblems(targets);  // it is missing from the table
      return Bench(options.bench, targets);
    case Command::kVerify:
      if (!options.verify.named) ReportProblems(targets);
      return Verify(options.verify);
    case Command::kAgents:
      return ListAgents(options);
    case Command::kCancel:
      return CancelRuns(options);
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
  RequireTls13();
  KeepOpenSslUntilTheProcessIsGone();
  SendGrpcLog(GrpcLog::kDebug);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  SetUpLog("coordinator", "warn", "text").IgnoreError();
  const TargetRegistry targets = ScanTargets(LibFolder(ProcessEnvironment()));
  const bool asks_for_engine = !arguments.empty() && arguments[0] == "needs-engine";
  if (asks_for_engine) arguments.erase(arguments.begin());
  auto options = ParseOptions(arguments, ProcessEnvironment(), targets);
  if (!options.ok()) {
    // Perhaps the target that was named is one of those.
    ReportProblems(targets);
    Complain(std::string(options.status().message()));
    return static_cast<int>(ExitCode::kUsage);
  }
  const bool resumes = options->command == Command::kResume;
  const std::string log_format = resumes ? options->resume.log_format : options->run.log_format;
  SetUpLog("coordinator", resumes ? options->resume.log_level : options->run.log_level, log_format)
      .IgnoreError();  // both are words that it knows
  const auto report = [&log_format](const std::string& line) { Complain(log_format, line); };
  absl::Status ready = UseInventory(*options, ProcessEnvironment(), report);
  if (ready.ok()) ready = Equip(*options);
  if (ready.ok() && !asks_for_engine) ready = ServeMetrics(*options);
  if (!ready.ok()) {
    Complain(log_format, std::string(ready.message()));
    return static_cast<int>(ExitCode::kUsage);
  }
  if (asks_for_engine) return static_cast<int>(TellEngineNeed(*options, targets));
  try {
    return static_cast<int>(RunCommand(*options, targets));
  } catch (const std::exception& e) {
    Complain(fmt::format("internal error: {}", e.what()));
    return static_cast<int>(ExitCode::kInternalError);
  }
}
