#include "coordinator/run/run_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/harmless_text.h"
#include "common/log.h"
#include "common/standard_streams.h"
#include "coordinator/fleet/memory_trouble.h"
#include "coordinator/ui/human_numbers.h"

namespace fetchbench::coordinator {
namespace {

namespace level = spdlog::level;
namespace json = boost::json;

std::string_view Text(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace

void LogRunBegins(const RunOptions& options, const std::string& run_id, bool resumed) {
  const LogFormat format = ParseLogFormat(options.log_format).value_or(LogFormat::kText);
  spdlog::default_logger()->set_formatter(MakeLogFormatter(format, kLogPattern, {{"run", run_id}}));
  json::object fields = {
      {"target", options.target.name}, {"concurrency", options.concurrency}, {"resumed", resumed}};
  LogEvent(level::info, "run_started", std::move(fields),
           fmt::format("run {} {}: target {}, concurrency {}", run_id,
                       resumed ? "goes on" : "starts", options.target.name, options.concurrency));
}

void LogRunEnds(const Summary& summary) {
  json::object fields = {{"end", RunEndName(summary.end)},
                         {"degraded", summary.degraded},
                         {"urls", summary.ledger.total},
                         {"recorded", summary.ledger.recorded},
                         {"never_started", summary.ledger.never_started},
                         {"time_us", summary.measured.time_us},
                         {"reason", summary.reason}};
  std::string text = fmt::format("run {} ended: {}, {} of {} URLs recorded", summary.facts.run_id,
                                 RunEndName(summary.end), Grouped(summary.ledger.recorded),
                                 Grouped(summary.ledger.total));
  if (!summary.reason.empty()) text += ": " + summary.reason;
  LogEvent(level::info, "run_ended", std::move(fields), text);
}

void LogAgentHere(const std::string& agent, const v1::Started& started, bool again) {
  json::object fields = {
      {"agent", agent}, {"host", started.host().hostname()}, {"resumed", started.resumed()}};
  const std::string text = fmt::format("agent {} is {}", agent, again ? "back" : "here");
  LogEvent(again ? level::warn : level::info, again ? "agent_back" : "agent_connected",
           std::move(fields), text);
}

void LogAgentAway(const std::string& agent, const absl::Status& why) {
  LogEvent(level::warn, "agent_away", {{"agent", agent}, {"why", Text(why)}},
           fmt::format("agent {} is away, trying again: {}", agent, Text(why)));
}

void LogAgentMemory(const std::string& agent, const v1::MemoryTrouble& trouble) {
  LogEvent(level::warn, "agent_hung_up",
           {{"agent", agent},
            {"memory_bytes", trouble.memory_bytes()},
            {"limit_bytes", trouble.limit_bytes()},
            {"dropped_run", trouble.dropped_run_id()}},
           fmt::format("agent {} {}", agent, MemoryTroubleText(trouble)));
}

void LogNoRecords(const std::string& agent, SteadyTime::duration silence, uint64_t urls) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silence).count();
  LogEvent(level::warn, "no_records", {{"agent", agent}, {"seconds", seconds}, {"urls", urls}},
           fmt::format("agent {} gave no record for {} s, and has {} URLs to fetch: its target "
                       "hangs, or its host is overloaded",
                       agent, seconds, Grouped(urls)));
}

void LogAgentGivenUp(const std::string& agent, const absl::Status& why) {
  LogEvent(level::err, "agent_given_up", {{"agent", agent}, {"why", Text(why)}},
           fmt::format("agent {} is given up: {}", agent, Text(why)));
}

void LogAgentLost(const std::string& agent) {
  LogEvent(level::err, "agent_lost", {{"agent", agent}},
           fmt::format("agent {} stayed away: its URLs go to others", agent));
}

void LogLastWordsAwaited(const std::vector<std::string>& agents, SteadyTime::duration at_most) {
  constexpr size_t kMostNamed = 5;
  std::string names;
  for (size_t i = 0; i < std::min(agents.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + agents[i];
  }
  if (agents.size() > kMostNamed) names += fmt::format(" and {} more", agents.size() - kMostNamed);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(at_most).count();
  LogEvent(level::warn, "last_words_awaited", {{"agents", names}, {"seconds", seconds}},
           fmt::format("every URL has its record; waiting up to {} s for the last word of {}",
                       seconds, names));
}

void LogAgentFailed(const std::string& agent, const absl::Status& why, const v1::Failed& last) {
  json::object fields = {{"agent", agent}, {"why", Text(why)}};
  if (last.has_totals()) fields["target_exit_code"] = last.totals().target_exit_code();
  if (!last.target_stderr().empty()) fields["target_stderr"] = last.target_stderr();
  LogEvent(level::err, "agent_failed", std::move(fields),
           fmt::format("agent {} gave up: {}", agent, Text(why)));
  if (last.target_stderr().empty()) return;
  LogEvent(level::err, "target_last_words", {{"agent", agent}},
           fmt::format("last words of its target: {}", last.target_stderr()));
}

void LogBuildBegins(const std::string& agent, const std::string& target) {
  LogEvent(level::info, "build_started", {{"agent", agent}, {"target", target}},
           fmt::format("agent {} builds target {}", agent, target));
}

void LogImageSent(const std::string& agent, const std::string& target) {
  LogEvent(level::info, "image_sent", {{"agent", agent}, {"target", target}},
           fmt::format("agent {} gets the image of target {} from another agent", agent, target));
}

void LogNotNoted(const std::string& agent, const absl::Status& why) {
  LogEvent(level::warn, "not_noted", {{"agent", agent}, {"why", Text(why)}},
           fmt::format("agent {}: what it runs could not be noted: {}", agent, Text(why)));
}

void LogMadeReadyAgain(const std::string& agent, const absl::Status& refused) {
  LogEvent(level::warn, "made_ready_again", {{"agent", agent}, {"why", Text(refused)}},
           fmt::format("agent {} is made ready again: {}", agent, Text(refused)));
}

void LogPrepared(const std::string& agent, const std::string& target,
                 const v1::TargetFacts& facts) {
  LogEvent(level::info, "target_ready",
           {{"agent", agent}, {"target", target}, {"image", facts.image_digest()}},
           fmt::format("target {} is ready on agent {}", target, agent));
}

void Complain(ProgressDisplay& display, const RunOptions& options, const std::string& what) {
  if (options.log_format == "json") {
    display.LogLine(JsonLogLine("coordinator", "error", what));
  } else {
    display.Log("coordinator: " + what);
  }
}

void Complain(const std::string& log_format, const std::string& what) {
  const std::string line = log_format == "json" ? JsonLogLine("coordinator", "error", what)
                                                : "coordinator: " + Harmless(what);
  WriteText(STDERR_FILENO, line + "\n").IgnoreError();
}

void MovedUrls::Look(const LeaseBook& book, const AgentBoard& board) {
  told_.resize(board.size());
  for (AgentIndex i = 0; i < board.size(); ++i) {
    const uint64_t taken = book.TakenFrom(i);
    const uint64_t more = taken - std::exchange(told_[i], taken);
    if (more == 0) continue;
    LogEvent(level::warn, "urls_moved", {{"agent", board.name(i)}, {"urls", more}},
             fmt::format("{} URLs were taken back from agent {}", Grouped(more), board.name(i)));
  }
}

}  // namespace fetchbench::coordinator
