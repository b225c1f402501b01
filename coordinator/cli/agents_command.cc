#include "coordinator/cli/agents_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "common/standard_streams.h"
#include "coordinator/fleet/agents_table.h"
#include "coordinator/fleet/describe_agents.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/run/run_log.h"
#include "coordinator/ui/terminal.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

// `code`, or another when the text could not be printed.
ExitCode Print(const std::string& text, ExitCode code) {
  const absl::Status written = WriteText(STDOUT_FILENO, text);
  if (written.ok()) return code;
  Complain("text", "standard output: " + std::string(written.message()));
  return ExitCode::kInternalError;
}

std::string Render(const Options& options, const std::vector<Described>& described) {
  if (options.agents_format == AgentsFormat::kJson) return AgentsJson(options.agents, described);
  const Terminal terminal(STDOUT_FILENO, ProcessEnvironment());
  if (!terminal.is_terminal()) return AgentsLines(options.agents, described);
  return AgentsText(options.agents, described, terminal.Style());
}

}  // namespace

ExitCode ListAgents(const Options& options) {
  const std::vector<Described> described = DescribeAll(options.agents, {});
  const bool all = std::ranges::all_of(described, [](const Described& d) { return d.ok(); });
  const absl::Status same = CheckVersions(options.agents, described, FETCHBENCH_VERSION);
  const ExitCode code = !same.ok() ? ExitCode::kUsage
                        : all      ? ExitCode::kDone
                                   : ExitCode::kIncomplete;
  const ExitCode printed = Print(Render(options, described), code);
  if (!same.ok()) Complain("text", std::string(same.message()));
  return printed;
}

ExitCode CancelRuns(const Options& options) {
  const std::vector<Described> agents = DescribeAll(options.agents, {});
  ExitCode code = ExitCode::kDone;
  for (size_t i = 0; i < agents.size(); ++i) {
    const AgentEndpoint& endpoint = options.agents[i];
    const std::string run = agents[i].ok() ? agents[i]->response.busy_run_id() : "";
    std::string said;
    if (!agents[i].ok()) {
      said = AgentStateText(agents[i]);
      code = ExitCode::kIncomplete;
    } else if (run.empty()) {
      said = "free already";
    } else if (absl::Status s = CancelRun(endpoint, run); s.ok()) {
      said = fmt::format("run {} is ended", run);
    } else {
      said = fmt::format("run {} could not be ended: {}", run, std::string(s.message()));
      code = ExitCode::kIncomplete;
    }
    const std::string line = Harmless(fmt::format("{}: {}", endpoint.shown(), said)) + "\n";
    if (const ExitCode printed = Print(line, code); printed != code) return printed;
  }
  return code;
}

}  // namespace fetchbench::coordinator
