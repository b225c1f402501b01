#include "coordinator/verify/verify_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "coordinator/cli/print_output.h"
#include "coordinator/ui/terminal.h"
#include "coordinator/verify/target_check.h"

namespace fetchbench::coordinator {
namespace {

bool Wanted(const std::vector<std::string>& only, std::string_view name) {
  return only.empty() || std::ranges::any_of(only, [name](const std::string& pattern) {
           return MatchesPattern(pattern, name);
         });
}

absl::StatusOr<CheckPlan> MakePlan(const VerifyOptions& options) {
  auto behaviours = ReadBehaviours(BehavioursFile(ProcessEnvironment()));
  if (!behaviours.ok()) return behaviours.status();
  CheckPlan plan;
  plan.run = options.run;
  plan.all_rows = options.only.empty() && options.resources;
  for (Behaviour& b : *behaviours) {
    if (Wanted(options.only, b.name)) plan.behaviours.push_back(std::move(b));
  }
  if (options.resources) {
    plan.resources = ChooseChecks(ResourceChecks(), [&options](const std::string& name) {
      return Wanted(options.only, name);
    });
  }
  if (plan.behaviours.empty() && plan.resources.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("--only: no behaviour is called so (they are in {})",
                    BehavioursFile(ProcessEnvironment())));
  }
  return plan;
}

std::string Render(const Matrix& matrix, MatrixFormat format) {
  switch (format) {
    case MatrixFormat::kJson:
      return MatrixJson(matrix);
    case MatrixFormat::kMarkdown:
      return MatrixMarkdown(matrix);
    case MatrixFormat::kPretty:
      break;
  }
  return MatrixText(matrix, Terminal(STDOUT_FILENO, ProcessEnvironment()).Style());
}

// `named`: somebody asked for these targets.
ExitCode CodeOf(const Matrix& matrix, bool named) {
  if (matrix.partial) return ExitCode::kInterrupted;
  if (matrix.Failed()) return ExitCode::kCheckFailed;
  const bool missing = std::ranges::any_of(
      matrix.columns, [](const MatrixColumn& column) { return !column.not_run.empty(); });
  return missing && named ? ExitCode::kIncomplete : ExitCode::kDone;
}

}  // namespace

std::string BehavioursFile(const Environment& env) {
  const auto named = env("FETCHBENCH_BEHAVIOURS");
  return named && !named->empty() ? *named : FETCHBENCH_SOURCE "/data/behaviours.json";
}

ExitCode Verify(const VerifyOptions& options) {
  const auto plan = MakePlan(options);
  if (!plan.ok()) {
    fmt::print(stderr, "coordinator: {}\n", std::string(plan.status().message()));
    return ExitCode::kUsage;
  }
  const Matrix matrix = CheckAll(*plan, options.targets, RunOnce, [](const std::string& line) {
    fmt::print(stderr, "verify: {}\n", line);
  });
  return PrintOutput(Render(matrix, options.format), CodeOf(matrix, options.named));
}

}  // namespace fetchbench::coordinator
