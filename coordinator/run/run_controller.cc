#include "coordinator/run/run_controller.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdlib>
#include <random>
#include <utility>

#include "common/blocking.h"
#include "common/boot_id.h"
#include "coordinator/run/busy_agents.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/run/run_log.h"
#include "coordinator/run/run_metrics.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};
// An interrupted run's index is not worth the wait beyond so many rows.
constexpr uint64_t kMaxRowsToIndexInHurry = 500'000;
constexpr const char* kToGoOn = "To go on with this run: ";
constexpr const char* kCannotGoOn =
    "Nothing was fetched, and this run cannot be gone on with: begin a new run.";

int64_t TimeoutUs(const RunOptions& options) {
  return std::chrono::microseconds(options.timeout).count();
}

}  // namespace

RunController::RunController(net::io_context& loop, const RunOptions& options, const Clock& clock,
                             ProgressDisplay& display, TextStyle stdout_style,
                             RunPresentation presentation, std::optional<TakenUpRun> taken_up)
    : loop_(loop),
      options_(options),
      clock_(clock),
      display_(display),
      stdout_style_(stdout_style),
      presentation_(std::move(presentation)),
      taken_up_(std::move(taken_up)),
      intake_(loop.get_executor(), options, clock, IntakeEvents()),
      signals_(loop),
      duration_timer_(loop),
      progress_timer_(loop),
      note_timer_(loop) {}

ListIntake::Events RunController::IntakeEvents() {
  ListIntake::Events events;
  events.say = [this](const std::string& text) { display_.Log(text); };
  events.invalid = [this](CommitBatch batch, std::function<void()> taken) {
    engine_->AddInvalid(std::move(batch), std::move(taken));
  };
  events.settled = [this](const ListCounts& counts) {
    return engine_->committed() >= counts.invalid || engine_->stopping();
  };
  events.loaded = [this](const ListCounts& counts) { return NoteList(counts); };
  return events;
}

Task<> RunController::Run() {
  std::function<void()> stop = [this] { Interrupt(); };
  std::function<void()> end = [this] { EndAtOnce(); };
  net::co_spawn(loop_, signals_.Watch(std::move(stop), std::move(end)), net::detached);
  net::co_spawn(loop_, ShowProgress(), net::detached);
  net::co_spawn(loop_, NoteDisturbed(), net::detached);
  result_.code = co_await RunSteps();
  over_ = true;
  signals_.Cancel();
  duration_timer_.cancel();
  progress_timer_.cancel();
  note_timer_.cancel();
}

Task<ExitCode> RunController::RunSteps() {
  began_ = clock_.Now();
  cpu_before_us_ = ProcessCpuUs();
  display_.Log(WebLine(options_));
  absl::Status begun;
  if (taken_up_) {
    begun = co_await TakeUp();
  } else {
    begun = Begin();
  }
  if (!begun.ok() && engine_) co_return co_await GiveUp(begun);
  if (!begun.ok()) co_return Report(begun);
  absl::Status ready = co_await MakeReady();
  if (ready.ok() && !engine_->stopping()) ready = co_await Feed();
  if (!ready.ok()) {
    const bool cancelled = absl::IsCancelled(ready) || interrupted_;
    engine_->Stop(cancelled ? RunEnd::kInterrupted : RunEnd::kIncomplete,
                  std::string(ready.message()));
  }
  EngineEnd end = co_await RunEngine::WaitEnd(engine_);
  co_await intake_.WaitEnded();
  if (!ready.ok() && !interrupted_ && !absl::IsCancelled(ready) && end.error.ok()) {
    end.error = ready;
  }
  co_return co_await WrapUp(std::move(end));
}

absl::Status RunController::Begin() {
  // First the list: a wrong name should leave no run folder behind.
  if (absl::Status s = intake_.Open(); !s.ok()) return s;
  identity_.started_us = clock_.WallUs();
  identity_.run_id = MakeRunId(identity_.started_us, std::random_device()());
  identity_.list_name = intake_.name();
  auto folder = RunFolder::Create(options_.out, identity_.run_id);
  if (!folder.ok()) return folder.status();
  identity_.folder = result_.folder = folder->path();
  auto journal = RunJournal::Begin(*std::move(folder), clock_, identity_, options_);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  LogRunBegins(options_, identity_.run_id, /*resumed=*/false);
  return StartAnew();
}

Task<absl::Status> RunController::TakeUp() {
  identity_ = taken_up_->state.identity;
  result_.folder = identity_.folder;
  const bool list_loaded = taken_up_->state.list_loaded;
  auto journal = RunJournal::GoOn(std::move(taken_up_->folder), clock_, taken_up_->state,
                                  taken_up_->down_since_us);
  if (!journal.ok()) co_return journal.status();
  journal_ = *std::move(journal);
  LogRunBegins(options_, identity_.run_id, /*resumed=*/true);
  if (list_loaded) co_return co_await GoOn();
  // Nothing was fetched yet: the list, which is a file, is read from its beginning.
  display_.Log(fmt::format("Run {} had not read its list: it begins anew.", identity_.run_id));
  for (const char* name : {"records.db", "records.db-wal", "records.db-shm", "urls.spool"}) {
    journal_->folder().Remove(name);
  }
  if (absl::Status s = intake_.Open(); !s.ok()) co_return s;
  co_return StartAnew();
}

absl::Status RunController::StartAnew() {
  if (absl::Status s = CreateEngine(std::nullopt); !s.ok()) return s;
  return intake_.Start(journal_->folder().File("urls.spool"));
}

// Takes stock of what an earlier session recorded.
Task<absl::Status> RunController::GoOn() {
  const ResumeState& state = journal_->state();
  const std::string store = journal_->folder().File("records.db");
  const Pauses pauses(state.pauses);
  const auto read = [this, &state, &store, &pauses] {
    return TakeUpRecords(store, state.urls, TimeoutUs(options_), pauses);
  };
  absl::StatusOr<StoredRecords> stored = co_await RunBlocking(loop_.get_executor(), read);
  if (!stored.ok()) co_return stored.status();
  journal_->NotDownBefore(stored->last_end_us);
  const IndexSet recorded = stored->recorded;
  display_.Log(ResumingInWords(identity_.run_id, recorded.count(), state.urls, stored->cut_short));
  if (absl::Status s = CreateEngine(*std::move(stored)); !s.ok()) co_return s;
  // While the records were read there was no engine that could be stopped.
  if (interrupted_) StopEngine();
  co_return co_await intake_.Reopen(journal_->folder().File("urls.spool"), state.urls,
                                    state.invalid, recorded);
}

absl::Status RunController::CreateEngine(std::optional<StoredRecords> stored) {
  EngineOptions engine_options;
  engine_options.grace = options_.grace;
  engine_options.session.silence = options_.silence;
  engine_options.linger = options_.linger;
  engine_options.timeout_us = TimeoutUs(options_);
  engine_options.give_up_after = options_.give_up_after;
  auto engine = RunEngine::Create(loop_.get_executor(), clock_, engine_options,
                                  journal_->folder().File("records.db"), std::move(stored));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  RunStage::Events events;
  events.say = [this](const std::string& text) { display_.Log(text); };
  events.interrupted = [this] { return interrupted_; };
  events.stopped = [this] { return Stopped(); };
  stage_.emplace(loop_.get_executor(), options_, identity_,
                 journal_->resumed() ? &journal_->state() : nullptr, std::move(events));
  if (presentation_.quiet) return absl::OkStatus();
  if (options_.format == ReportFormat::kPlain) {
    engine_->PrintRecords(STDOUT_FILENO, RecordStream::Style::kPlain, stdout_style_);
  } else if (options_.format == ReportFormat::kRecords) {
    engine_->PrintRecords(STDOUT_FILENO, RecordStream::Style::kColoured, stdout_style_);
  }
  return absl::OkStatus();
}

// Everything before URLs flow.
Task<absl::Status> RunController::MakeReady() {
  // All that was left to do for an earlier session was to sum up.
  const ResumeState& state = journal_->state();
  if (state.list_loaded && engine_->committed() == state.urls) co_return absl::OkStatus();
  const SteadyTime before = clock_.Now();
  absl::Status status = co_await stage_->SetUp();
  if (options_.meter) options_.meter->SetUp(clock_.Now() - before);
  std::function<bool()> stopped = [this] { return Stopped(); };
  // A list that cannot be read, or is empty, is better known before the agents begin.
  if (status.ok() && intake_.loaded()) status = co_await intake_.WaitLoaded(stopped);
  // Stopped meanwhile, by the user, a full disk or a reader that had enough.
  if (status.ok() && !Stopped()) status = co_await ConnectAgents();
  if (status.ok()) status = co_await intake_.WaitLoaded(std::move(stopped));
  if (!status.ok() || engine_->stopping()) co_return status;
  co_return co_await stage_->BeginRun(SessionId(identity_.run_id, state.sessions), intake_.list());
}

Task<absl::Status> RunController::ConnectAgents() {
  const std::string session = SessionId(identity_.run_id, journal_->state().sessions);
  const v1::Start start = stage_->StartOf(session);
  AgentCare care;
  if (journal_->resumed()) {
    care.release = [this](const AgentEndpoint& agent, std::function<bool()> stopped) {
      const ReleaseLimits limits{.answer = options_.connect_timeout};
      return ReleaseFromRun(loop_.get_executor(), agent, identity_.run_id, limits,
                            std::move(stopped));
    };
  }
  care.make_ready = [this](AgentIndex agent, absl::Status refused, v1::Start& its) {
    return stage_->MakeReadyAgain(agent, std::move(refused), its);
  };
  care.admit = [this](AgentIndex agent, v1::Started started) {
    return Admit(agent, std::move(started));
  };
  engine_->Connect(stage_->agents(), BootId(), start, care);
  if (const size_t agents = stage_->agents().size(); agents > 1) {
    display_.Log(ConcurrencyInWords(options_.concurrency, agents));
  }
  const absl::Status connected =
      co_await RunEngine::WaitConnected(engine_, options_.connect_timeout, stage_->reached());
  if (!connected.ok()) co_return connected;
  co_return co_await WriteRunJson(Parts());
}

Task<absl::Status> RunController::Feed() {
  MadeReady ready = Ready();
  const absl::StatusOr<Pause> pause = co_await journal_->NoteFeeding(std::move(ready));
  if (!pause.ok()) co_return pause.status();
  if (engine_->stopping()) co_return absl::OkStatus();
  if (journal_->resumed()) engine_->AddPause(*pause);
  began_ = clock_.Now();
  feeding_ = true;
  const ListCounts& counts = intake_.list().counts;
  // Of a run that was gone on with, all records; of a new one, the lines that are no URL.
  const uint64_t recorded = std::max(counts.invalid, engine_->known());
  engine_->Feed(counts.urls, recorded, intake_.remaining(),
                [this](uint32_t partition) { return intake_.Take(partition); });
  net::co_spawn(loop_, WatchDuration(), net::detached);
  co_return absl::OkStatus();
}

void RunController::Interrupt() {
  interrupted_ = true;
  intake_.Stop();
  if (engine_) StopEngine();
}

void RunController::StopEngine() { engine_->Stop(RunEnd::kInterrupted, "stopped by the user"); }

// Children die with this thread, as soon as the process ends.
void RunController::EndAtOnce() {
  display_.Finish(LastFrame::kKeep);
  SayWhoIsBusy();
  const bool is_over = journal_ && journal_->state().end == RunEndName(RunEnd::kComplete);
  if (!is_over) SayWhatIsLeft();
  if (stage_) stage_->DropAgent();
  std::_Exit(static_cast<int>(ExitCode::kInterrupted));
}

Task<> RunController::WatchDuration() {
  if (options_.duration.count() == 0) co_return;
  duration_timer_.expires_after(options_.duration);
  auto [error] = co_await duration_timer_.async_wait(kAsTuple);
  if (error || over_) co_return;
  engine_->Stop(RunEnd::kDuration, "DURATION was reached");
}

std::string RunController::Phase() const {
  if (interrupted_) return "stopping (Ctrl-C again: at once)";
  if (engine_->stopping()) return "stopping";
  if (feeding_) return "running";
  return intake_.loaded() ? "preparing" : "reading the list";
}

ProgressSnapshot RunController::Snapshot() {
  const SteadyTime now = clock_.Now();
  ProgressSnapshot s =
      view_.Take(*engine_, options_, now, feeding_ ? std::optional(began_) : std::nullopt,
                 stage_->preparing());
  if (!presentation_.title_note.empty()) s.title += ", " + presentation_.title_note;
  s.phase = Phase();
  return s;
}

Task<> RunController::ShowProgress() {
  while (!over_) {
    progress_timer_.expires_after(kProgressInterval);
    auto [error] = co_await progress_timer_.async_wait(kAsTuple);
    if (error || over_) co_return;
    if (journal_) journal_->SignOfLife();
    if (stage_) stage_->PassOnLogs();
    if (!engine_) continue;
    WatchLocalAgent();
    if (options_.meter) options_.meter->Update(*engine_, stage_->preparing(), clock_.Now());
    if (display_.Due(clock_.Now())) display_.Update(Snapshot(), clock_.Now());
  }
}

// Nobody starts it again, so nothing is to be waited for.
void RunController::WatchLocalAgent() {
  if (!feeding_ || engine_->stopping()) return;
  if (const auto end = stage_->LocalAgentEnd()) engine_->Stop(RunEnd::kIncomplete, *end);
}

RunParts RunController::Parts() {
  return {options_, identity_, *engine_, *stage_, intake_.list(), *journal_, cpu_before_us_};
}

Task<std::optional<OriginSummary>> RunController::AskOrigin(bool hurry) {
  const SimulatedWeb* web = stage_->web();
  if (web == nullptr || !feeding_ || (hurry && !web->is_own())) co_return std::nullopt;
  std::string session = SessionId(identity_.run_id, journal_->state().sessions);
  co_return co_await stage_->AskOrigin(std::move(session));
}

// An error after the engine is there, and before anything runs.
Task<ExitCode> RunController::GiveUp(absl::Status error) {
  engine_->Stop(RunEnd::kIncomplete, std::string(error.message()));
  co_await RunEngine::WaitEnd(engine_);
  if (options_.meter) options_.meter->Ended(*engine_, RunEnd::kIncomplete);
  const CommitPipe::Closed closed = co_await RunEngine::CloseStore(engine_, false);
  if (!closed.store.ok()) spdlog::error("{}", std::string(closed.store.message()));
  co_return Report(error);
}

ExitCode RunController::Report(const absl::Status& error) {
  result_.error = error;
  display_.Finish(LastFrame::kKeep);
  Complain(display_, options_, std::string(error.message()));
  if (absl::IsUnavailable(error)) SayWhatIsLeft();
  const bool usage = absl::IsInvalidArgument(error) || absl::IsNotFound(error) ||
                     absl::IsFailedPrecondition(error);
  const ExitCode code = usage ? ExitCode::kUsage : ExitCode::kInternalError;
  if (IsFutile(error, code)) DropRun();
  return code;
}

// A new run that fetched nothing and that `resume` cannot help: it would be refused again, for the
// same settings, or its list is gone. What may be mended elsewhere (an agent that is away or busy,
// a full disk) leaves a run that can be gone on with.
bool RunController::IsFutile(const absl::Status& error, ExitCode code) const {
  if (!journal_ || journal_->resumed() || feeding_ || interrupted_ || error.ok()) return false;
  return code == ExitCode::kUsage || !CanGoOn(journal_->state());
}

// An earlier run that can be gone on with is the latest one again. What was recorded of lines that
// are no URL is not thrown away, though.
void RunController::DropRun() {
  if (engine_ && engine_->committed() > 0) return journal_->folder().GiveBackLatest();
  journal_->folder().Discard();
  result_.folder.clear();
}

// After what may pass, such as a full disk, and where there is no summary.
void RunController::SayWhatIsLeft() {
  if (presentation_.quiet || identity_.folder.empty()) return;
  if (journal_ ? CanGoOn(journal_->state()) : taken_up_.has_value()) {
    display_.Log(kToGoOn + ResumeCommand(identity_.folder, identity_.run_id));
  } else {
    display_.Log(kCannotGoOn);
  }
}

// How to go on, where the summary on standard output does not end with it.
void RunController::SayHowToGoOn(const Summary& summary, bool printed) {
  if (presentation_.quiet) return;
  if (!CanGoOn(journal_->state())) return display_.Log(kCannotGoOn);
  if (summary.resume_command.empty()) return;
  const bool said = printed && (options_.format == ReportFormat::kPretty ||
                                options_.format == ReportFormat::kRecords);
  if (!said) display_.Log(kToGoOn + summary.resume_command);
}

// Agents that refused, before the run or when it was to begin.
std::vector<BusyAgent> RunController::BusyAgents() const {
  std::vector<BusyAgent> busy;
  for (AgentIndex i = 0; i < stage_->refused().size(); ++i) {
    if (engine_->connected() && engine_->board().ever_started(i)) continue;  // it became free
    std::string run = BusyWith(stage_->refused()[i]);
    if (run.empty() && engine_->connected()) run = BusyWith(engine_->board().failure(i));
    if (!run.empty()) busy.push_back({stage_->agents()[i], std::move(run)});
  }
  return busy;
}

// Which agents were not free, and which may not be now. One of our own ends with us.
void RunController::SayWhoIsBusy() {
  if (!stage_ || options_.agents.empty()) return;
  const std::string& credentials = options_.credentials.named;
  const std::vector<BusyAgent> busy = BusyAgents();
  if (!busy.empty()) {
    for (const std::string& line : HowToFree(busy, credentials)) display_.Log(line);
  }
  std::vector<AgentEndpoint> left;
  for (const AgentIndex i : engine_->MayBeBusy()) left.push_back(stage_->agents()[i]);
  if (!left.empty()) display_.Log(LeftBusyInWords(left, credentials));
}

Task<ExitCode> RunController::WrapUp(EngineEnd end) {
  const bool hurry = interrupted_;
  std::optional<OriginSummary> origin = co_await AskOrigin(hurry);
  if (!hurry && feeding_ && presentation_.before_web_ends) {
    co_await presentation_.before_web_ends(stage_->origin_client(), identity_.folder);
  }
  co_await stage_->Stop(hurry);
  const bool index = !hurry || engine_->committed() <= kMaxRowsToIndexInHurry;
  const CommitPipe::Closed closed = co_await RunEngine::CloseStore(engine_, index);
  if (end.error.ok()) end.error = closed.store;
  if (end.error.ok()) end.error = closed.output;
  bool store_failed = !closed.store.ok();
  // All records are there, but their file is not whole.
  if (store_failed && end.end == RunEnd::kComplete) end.end = RunEnd::kIncomplete;
  const Summary summary = Summarise(Parts(), end, std::move(origin));
  if (options_.meter) options_.meter->Ended(*engine_, summary.end);
  LogRunEnds(summary);
  const absl::Status kept = co_await WriteResults(Parts(), summary);
  if (!kept.ok()) {
    spdlog::error("{}", std::string(kept.message()));
    if (end.error.ok()) end.error = kept;
    store_failed = true;
  }
  display_.Update(Snapshot(), clock_.Now());
  display_.Finish(feeding_ && isatty(STDOUT_FILENO) == 1 ? LastFrame::kErase : LastFrame::kKeep);
  if (!end.error.ok()) Complain(display_, options_, std::string(end.error.message()));
  signals_.Release();
  result_.error = end.error;
  result_.summary = summary;
  const bool print = feeding_ && !presentation_.quiet;
  const absl::Status printed =
      print ? PrintSummary(summary, options_.format, stdout_style_, interrupted_)
            : absl::OkStatus();
  SayWhoIsBusy();
  const bool begun = feeding_ || !stage_->preparing().empty() || stage_->origin_away();
  const bool unprintable =
      !printed.ok() && !absl::IsCancelled(printed) && !absl::IsDeadlineExceeded(printed);
  ExitCode code = ExitCodeOf(end.error, summary.end, begun);
  if (end.nobody_reads && !interrupted_) code = ExitCode::kNobodyReads;
  if (store_failed || !closed.output.ok() || unprintable) code = ExitCode::kInternalError;
  const bool futile = IsFutile(end.error, code);
  if (!futile || code != ExitCode::kUsage) SayHowToGoOn(summary, print && printed.ok());
  if (futile) DropRun();
  if (unprintable) {
    Complain(display_, options_, "standard output: " + std::string(printed.message()));
  }
  co_return code;
}

}  // namespace fetchbench::coordinator
