#include "coordinator/run/busy_agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/busy_words.h"
#include "coordinator/cli/program_name.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

std::string Names(const std::vector<AgentEndpoint>& agents) {
  std::string names;
  for (const AgentEndpoint& agent : agents) {
    names += (names.empty() ? "" : ", ") + agent.shown();
  }
  return names;
}

// The run that all of them are busy with; empty: there are several.
std::string OneRun(const std::vector<BusyAgent>& busy) {
  const std::string run = RunOfSession(busy.front().run_id);
  const bool all = std::ranges::all_of(
      busy, [&run](const BusyAgent& agent) { return RunOfSession(agent.run_id) == run; });
  return all ? run : "";
}

}  // namespace

std::string BusyWith(const absl::Status& refused) {
  if (!absl::IsResourceExhausted(refused)) return "";
  std::string_view words(refused.message().data(), refused.message().size());
  for (const std::string_view begin : {kBusyWithRun, kBusyWithStartingRun}) {
    if (!words.starts_with(begin)) continue;
    words.remove_prefix(begin.size());
    return std::string(words.substr(0, words.find(' ')));
  }
  return "";
}

std::string CancelCommand(const std::vector<AgentEndpoint>& agents,
                          const std::string& credentials) {
  std::string list;
  for (const AgentEndpoint& agent : agents) {
    list += (list.empty() ? "" : ",") + EndpointText(agent);
  }
  std::string command = ProgramName() + " cancel --agents " + ShellWord(list);
  if (!credentials.empty()) command += " --credentials " + ShellWord(credentials);
  return command;
}

std::vector<std::string> HowToFree(const std::vector<BusyAgent>& busy,
                                   const std::string& credentials) {
  std::vector<AgentEndpoint> agents;
  for (const BusyAgent& agent : busy) agents.push_back(agent.endpoint);
  const std::string run = OneRun(busy);
  const std::string end = fmt::format("To end what {} busy with: {}",
                                      busy.size() == 1 ? "that agent is" : "those agents are",
                                      CancelCommand(agents, credentials));
  if (run.empty()) {
    return {end, "To go on with one of those runs, if its coordinator is gone: " + ProgramName() +
                     " resume RUN"};
  }
  return {end, "To go on with that run instead, if its coordinator is gone: " + ProgramName() +
                   " resume " + ShellWord(run)};
}

std::string LeftBusyInWords(const std::vector<AgentEndpoint>& agents,
                            const std::string& credentials) {
  return fmt::format(
      "No last word came from {}, which may still be busy with this run. To free {}: {}",
      Names(agents), agents.size() == 1 ? "it" : "them", CancelCommand(agents, credentials));
}

}  // namespace fetchbench::coordinator
