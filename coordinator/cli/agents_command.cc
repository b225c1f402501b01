#include "coordinator/cli/agents_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "coordinator/cli/print_output.h"
#include "coordinator/fleet/agents_table.h"
#include "coordinator/fleet/describe_agents.h"
#include "coordinator/fleet/same_agent.h"
#include "coordinator/run/busy_agents.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/run/run_log.h"
#include "coordinator/ui/terminal.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

std::string Render(const Options& options, const std::vector<Described>& described) {
  if (options.agents_format == AgentsFormat::kJson) return AgentsJson(options.agents, described);
  const Terminal terminal(STDOUT_FILENO, ProcessEnvironment());
  if (!terminal.is_terminal()) return AgentsLines(options.agents, described);
  return AgentsText(options.agents, described, terminal.Style());
}

// For a person, so not among the lines that scripts read.
void SayHowToFree(const Options& options, const std::vector<Described>& described) {
  std::vector<BusyAgent> busy;
  for (size_t i = 0; i < described.size(); ++i) {
    if (!described[i].ok() || described[i]->response.busy_run_id().empty()) continue;
    busy.push_back({options.agents[i], described[i]->response.busy_run_id()});
  }
  if (busy.empty()) return;
  std::string text;
  for (const std::string& line : HowToFree(busy, options.run.credentials.named)) {
    text += Harmless(line) + "\n";
  }
  WriteText(STDERR_FILENO, text).IgnoreError();
}

}  // namespace

ExitCode ListAgents(const Options& options) {
  const std::vector<Described> described = DescribeAll(options.agents, {});
  const bool all = std::ranges::all_of(described, [](const Described& d) { return d.ok(); });
  // What keeps a run from starting with them.
  absl::Status fit = CheckVersions(options.agents, described, FETCHBENCH_VERSION);
  if (fit.ok()) fit = CheckDistinct(options.agents, described);
  const ExitCode code = !fit.ok() ? ExitCode::kUsage
                        : all     ? ExitCode::kDone
                                  : ExitCode::kIncomplete;
  const ExitCode printed = PrintOutput(Render(options, described), code);
  if (!fit.ok()) Complain("text", std::string(fit.message()));
  if (options.agents_format != AgentsFormat::kJson) SayHowToFree(options, described);
  return printed;
}

ExitCode CancelRuns(const Options& options) {
  const std::vector<Described> agents = DescribeAll(options.agents, {});
  const std::vector<std::optional<size_t>> same = FindSameAgents(agents);
  std::vector<BusyAgent> busy;
  for (size_t i = 0; i < agents.size(); ++i) {
    if (!agents[i].ok() || same[i] || agents[i]->response.busy_run_id().empty()) continue;
    busy.push_back({options.agents[i], agents[i]->response.busy_run_id()});
  }
  const std::vector<absl::Status> ended = EndRuns(busy);
  ExitCode code = ExitCode::kDone;
  std::string lines;
  size_t next = 0;  // of those that were busy
  for (size_t i = 0; i < agents.size(); ++i) {
    std::string said = "free already";
    if (!agents[i].ok()) {
      said = AgentStateText(agents[i]);
      code = ExitCode::kIncomplete;
    } else if (same[i]) {
      said = SameAgentText(options.agents[*same[i]]);
    } else if (const std::string& run = agents[i]->response.busy_run_id(); !run.empty()) {
      const absl::Status& status = ended[next++];
      said = status.ok()
                 ? fmt::format("run {} is ended", run)
                 : fmt::format("run {} could not be ended: {}", run, std::string(status.message()));
      if (!status.ok()) code = ExitCode::kIncomplete;
    }
    lines += Harmless(fmt::format("{}: {}", options.agents[i].shown(), said)) + "\n";
  }
  return PrintOutput(lines, code);
}

}  // namespace fetchbench::coordinator
