#include "coordinator/cli/agents_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "common/record_line.h"
#include "common/standard_streams.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::seconds kDescribeLimit{5};

using Described = absl::StatusOr<v1::DescribeResponse>;

Described Describe(const AgentEndpoint& agent) { return DescribeAgent(agent, kDescribeLimit); }

// All at once: one that does not answer costs its time once.
std::vector<Described> DescribeAll(const std::vector<AgentEndpoint>& endpoints) {
  std::vector<std::future<Described>> futures;
  futures.reserve(endpoints.size());
  for (const AgentEndpoint& endpoint : endpoints) {
    futures.push_back(std::async(std::launch::async, Describe, endpoint));
  }
  std::vector<Described> results;
  results.reserve(endpoints.size());
  for (auto& future : futures) results.push_back(future.get());
  return results;
}

std::string StateOf(const v1::DescribeResponse& agent) {
  if (agent.busy_run_id().empty()) return "free";
  std::string since;
  AppendRfc3339(since, agent.busy_since_us());
  return fmt::format("busy with run {} since {}", agent.busy_run_id(), since);
}

std::string RowOf(const std::string& name, const Described& described) {
  if (!described.ok()) {
    return fmt::format("{}: not reachable: {}", name, std::string(described.status().message()));
  }
  const v1::HostFacts& host = described->host();
  std::string targets;
  for (const std::string& target : described->targets()) {
    targets += (targets.empty() ? "" : ", ") + target;
  }
  return fmt::format("{}: {}; fetchbench {}; {}, {}, {} CPUs, {} memory, {}; targets: {}", name,
                     StateOf(*described), described->version(), host.hostname(), host.cpu_model(),
                     host.cpus(), HumanBytes(static_cast<double>(host.memory_bytes())), host.os(),
                     targets.empty() ? "none" : targets);
}

// `code`, or another when the text could not be printed.
ExitCode Print(const std::string& text, ExitCode code) {
  const absl::Status written = WriteText(STDOUT_FILENO, text);
  if (written.ok()) return code;
  const std::string why(written.message());
  WriteText(STDERR_FILENO, "coordinator: standard output: " + why + "\n").IgnoreError();
  return ExitCode::kInternalError;
}

}  // namespace

ExitCode ListAgents(const std::vector<AgentEndpoint>& endpoints) {
  const std::vector<Described> agents = DescribeAll(endpoints);
  ExitCode code = ExitCode::kDone;
  std::string text;
  for (size_t i = 0; i < agents.size(); ++i) {
    text += Harmless(RowOf(endpoints[i].shown(), agents[i])) + "\n";
    if (!agents[i].ok()) code = ExitCode::kIncomplete;
  }
  return Print(text, code);
}

ExitCode CancelRuns(const std::vector<AgentEndpoint>& endpoints) {
  const std::vector<Described> agents = DescribeAll(endpoints);
  ExitCode code = ExitCode::kDone;
  for (size_t i = 0; i < agents.size(); ++i) {
    std::string said;
    if (!agents[i].ok()) {
      said = RowOf(endpoints[i].shown(), agents[i]);
      code = ExitCode::kIncomplete;
    } else if (agents[i]->busy_run_id().empty()) {
      said = fmt::format("{}: free already", endpoints[i].shown());
    } else if (absl::Status s = CancelRun(endpoints[i], agents[i]->busy_run_id()); s.ok()) {
      said = fmt::format("{}: run {} is ended", endpoints[i].shown(), agents[i]->busy_run_id());
    } else {
      said = fmt::format("{}: run {} could not be ended: {}", endpoints[i].shown(),
                         agents[i]->busy_run_id(), std::string(s.message()));
      code = ExitCode::kIncomplete;
    }
    if (const ExitCode printed = Print(Harmless(said) + "\n", code); printed != code)
      return printed;
  }
  return code;
}

}  // namespace fetchbench::coordinator
