#include "coordinator/run/run_ending.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "common/blocking.h"
#include "common/standard_streams.h"
#include "coordinator/run/run_view.h"
#include "coordinator/run/take_up_run.h"
#include "coordinator/summary/marks.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kHurriedPrint{1000};

const OriginConfig* ConfigOf(const RunStage& stage) {
  return stage.web() == nullptr ? nullptr : &stage.web()->config;
}

const AgentBoard* BoardOf(RunEngine& engine) {
  return engine.connected() ? &engine.board() : nullptr;
}

Task<absl::Status> WriteFile(const RunFolder& folder, std::string name, std::string text) {
  const net::any_io_executor loop = co_await net::this_coro::executor;
  const auto write = [&folder, &name, &text] { return folder.Write(name, text); };
  co_return co_await RunBlocking(loop, write);
}

// What earlier sessions add, and how a later one would go on.
void NoteSessions(const RunParts& parts, const EngineEnd& end, Summary& s) {
  const ResumeState& state = parts.journal.state();
  s.ledger.duplicates_dropped += state.duplicates_dropped;
  s.ledger.requested_again += state.requested_again;
  s.resumed = state.sessions - 1;
  s.recorded_earlier = parts.engine.recorded_earlier();
  s.down_us = Pauses(state.pauses).Total();
  // Its files are damaged: nobody can.
  if (s.end == RunEnd::kComplete || absl::IsDataLoss(end.error) || !CanGoOn(state)) return;
  s.resume_command = ResumeCommand(parts.identity.folder, parts.identity.run_id);
  if (s.end == RunEnd::kDuration) s.resume_command += " --duration 0";
}

}  // namespace

int64_t ProcessCpuUs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

Summary Summarise(const RunParts& parts, const EngineEnd& end,
                  std::optional<OriginSummary> origin) {
  Summary s;
  const AgentBoard* board = BoardOf(parts.engine);
  s.facts =
      MakeFacts(parts.options, parts.identity, ConfigOf(parts.stage), board, parts.stage.facts());
  s.end = end.end;
  s.reason = end.reason;
  s.measured = parts.engine.aggregator().Result();
  s.ledger = MakeLedger(parts.list.counts, parts.engine.counts(), parts.engine.committed());
  s.invalid_lines = parts.list.counts.invalid;
  if (board != nullptr) {
    s.cost = board->TotalCost();
    s.agents = board->Summaries();
  }
  for (AgentIndex i = 0; i < s.agents.size(); ++i) {
    s.agents[i].urls_moved = parts.engine.TakenFrom(i);
  }
  s.cost.coordinator_cpu_us = ProcessCpuUs() - parts.cpu_before_us;
  s.origin = std::move(origin);
  s.origin_trouble = parts.stage.origin_trouble();
  if (!s.ledger.Balanced() && s.end != RunEnd::kInterrupted) s.end = RunEnd::kIncomplete;
  s.disturbed_earlier = parts.journal.state().disturbed_earlier;
  s.degraded_by = DegradedInWords(parts.engine.Disturbances(), s.disturbed_earlier);
  s.degraded = !s.degraded_by.empty();
  if (s.reason.empty()) s.reason = s.degraded_by;
  NoteSessions(parts, end, s);
  s.marks = FindMarks(s);
  return s;
}

Task<absl::Status> WriteRunJson(RunParts parts) {
  co_return co_await WriteFile(
      parts.journal.folder(), "run.json",
      MakeRunJson(parts.options, parts.identity, ConfigOf(parts.stage), BoardOf(parts.engine),
                  parts.stage.facts(), parts.journal.state().disturbed_earlier));
}

Task<absl::Status> WriteResults(RunParts parts, const Summary& summary) {
  absl::Status status =
      co_await WriteFile(parts.journal.folder(), "summary.json", RenderJson(summary));
  // Again: what is known of the agents' clocks by now.
  if (status.ok() && parts.engine.connected()) status = co_await WriteRunJson(parts);
  if (status.ok()) {
    status = co_await parts.journal.NoteEnd(summary, parts.engine.Disturbances());
  }
  co_return status;
}

absl::Status PrintSummary(const Summary& summary, ReportFormat format, const TextStyle& style,
                          bool in_a_hurry) {
  const std::string text = RenderSummary(summary, format, style);
  return WriteToReader(STDOUT_FILENO, text,
                       in_a_hurry ? std::optional(kHurriedPrint) : std::nullopt);
}

}  // namespace fetchbench::coordinator
