#include "coordinator/run/run_controller.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <future>
#include <random>

#include "common/standard_streams.h"
#include "coordinator/cli/settings.h"
#include "coordinator/run/blocking.h"
#include "coordinator/summary/marks.h"
#include "coordinator/ui/report_writer.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};
constexpr std::chrono::milliseconds kHurriedPrint{1000};
constexpr std::chrono::milliseconds kRemoveLimit{1500};
// An interrupted run's index is not worth the wait beyond so many rows.
constexpr uint64_t kMaxRowsToIndexInHurry = 500'000;

int64_t ProcessCpuUs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

RunController::RunController(net::io_context& loop, const RunOptions& options, const Clock& clock,
                             ProgressDisplay& display, TextStyle stdout_style,
                             RunPresentation presentation)
    : loop_(loop),
      options_(options),
      clock_(clock),
      display_(display),
      stdout_style_(stdout_style),
      presentation_(std::move(presentation)),
      loaded_(loop.get_executor()),
      signals_(loop, SIGINT, SIGTERM),
      duration_timer_(loop),
      progress_timer_(loop) {
  // A terminal that hangs up is a user that goes away; under nohup it is none.
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) {
    boost::system::error_code ignored;
    signals_.add(SIGHUP, ignored);
  }
}

Task<> RunController::Run() {
  net::co_spawn(loop_, WatchSignals(), net::detached);
  net::co_spawn(loop_, ShowProgress(), net::detached);
  result_.code = co_await RunSteps();
  over_ = true;
  signals_.cancel();
  duration_timer_.cancel();
  progress_timer_.cancel();
}

Task<ExitCode> RunController::RunSteps() {
  began_ = clock_.Now();
  cpu_before_us_ = ProcessCpuUs();
  display_.Log(WebLine(options_));
  // First the list: a wrong name should leave no run folder behind.
  const auto list = OpenList();
  if (!list.ok()) co_return Report(list.status());
  if (absl::Status s = CreateFolder(); !s.ok()) co_return Report(s);
  if (absl::Status s = StartLoading(*list); !s.ok()) co_return co_await GiveUp(s);
  absl::Status ready = co_await SetUp();
  if (ready.ok()) ready = co_await AwaitList();
  if (ready.ok()) ready = co_await BeginOnOrigin();
  if (!ready.ok()) {
    const bool cancelled = absl::IsCancelled(ready) || interrupted_;
    engine_->Stop(cancelled ? RunEnd::kInterrupted : RunEnd::kIncomplete,
                  std::string(ready.message()));
  } else if (!engine_->stopping()) {
    began_ = clock_.Now();
    feeding_ = true;
    UrlSpool* spool = spool_.get();
    engine_->Feed(list_.counts.urls, list_.counts.invalid, spool->remaining(),
                  [spool](uint32_t partition) { return spool->Take(partition); });
    net::co_spawn(loop_, WatchDuration(), net::detached);
  }
  EngineEnd end = co_await RunEngine::WaitEnd(engine_);
  stop_loading_ = true;
  while (!load_status_) co_await loaded_.WaitUntil();
  if (!ready.ok() && !interrupted_ && !absl::IsCancelled(ready) && end.error.ok()) {
    end.error = ready;
  }
  co_return co_await WrapUp(std::move(end));
}

absl::Status RunController::CreateFolder() {
  identity_.started_us = clock_.WallUs();
  identity_.run_id = MakeRunId(identity_.started_us, std::random_device()());
  auto folder = RunFolder::Create(options_.out, identity_.run_id);
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  identity_.folder = result_.folder = folder_->path();
  EngineOptions engine_options;
  engine_options.grace = options_.grace;
  engine_options.linger = options_.linger;
  engine_options.timeout_us = std::chrono::microseconds(options_.timeout).count();
  auto engine =
      RunEngine::Create(loop_.get_executor(), clock_, engine_options, folder_->File("records.db"));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  if (presentation_.quiet) return absl::OkStatus();
  if (options_.format == ReportFormat::kPlain) {
    engine_->PrintRecords(STDOUT_FILENO, RecordStream::Style::kPlain, stdout_style_);
  } else if (options_.format == ReportFormat::kRecords) {
    engine_->PrintRecords(STDOUT_FILENO, RecordStream::Style::kColoured, stdout_style_);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunController::OpenList() {
  identity_.list_name = options_.urls == "-" ? "standard input" : options_.urls;
  auto fd = OpenUrlList(options_.urls);
  if (fd.ok() && options_.urls == "-" && isatty(STDIN_FILENO) == 1) {
    display_.Log("Reading URLs from the terminal, one a line; Ctrl-D ends the list.");
  }
  return fd;
}

absl::Status RunController::StartLoading(int fd) {
  auto spool = UrlSpool::Create(folder_->File("urls.spool"));
  if (!spool.ok()) return spool.status();
  spool_ = *std::move(spool);
  net::co_spawn(loop_, Load(fd), net::detached);
  return absl::OkStatus();
}

Task<> RunController::Load(int fd) {
  LoadRequest request;
  request.fd = fd;
  request.name = identity_.list_name;
  request.limit = options_.limit;
  // An address in the list would be connected to past the simulated DNS: on the real web.
  request.hosts = options_.web == Web::kSim ? Hosts::kNames : Hosts::kAll;
  request.max_hosts = options_.web == Web::kSim ? OriginClient::kMaxCertificates : 0;
  request.wall_us = [this] { return clock_.WallUs(); };
  request.on_complaint = [this](const std::string& text) { display_.Log(text); };
  request.on_invalid = [this](CommitBatch batch) {
    // On the loader's thread: the loop takes the batch, and lets us go on when there is room.
    auto taken = std::make_shared<std::promise<void>>();
    net::post(loop_, [this, taken, batch = std::move(batch)]() mutable {
      engine_->AddInvalid(std::move(batch), [taken] { taken->set_value(); });
    });
    taken->get_future().wait();
  };
  const auto load = [this, &request] { return LoadList(request, stop_loading_, *spool_, list_); };
  load_status_ = co_await RunBlocking(loop_.get_executor(), load);
  if (fd != STDIN_FILENO) close(fd);
  loaded_.Notify();
}

Task<absl::Status> RunController::SetUp() {
  std::vector<std::string> addresses = options_.agents;
  std::vector<std::string> names = addresses;
  absl::Status status = co_await StartAgents(addresses, names);
  if (status.ok() && options_.web == Web::kSim && !options_.target.is_container()) {
    status = co_await StartWeb();
  }
  std::vector<bool> reached(addresses.size(), false);
  if (status.ok()) status = co_await PrepareTarget(addresses, names, reached);
  // After the target: a build may take long, and the origin's images come out of the same Engine.
  if (status.ok() && options_.web == Web::kSim && options_.target.is_container()) {
    status = co_await StartWeb();
  }
  // Stopped meanwhile, by the user, a full disk or a reader that had enough.
  if (!status.ok() || engine_->stopping()) co_return status;
  co_return co_await ConnectAgents(std::move(addresses), std::move(names), std::move(reached));
}

Task<absl::Status> RunController::StartAgents(std::vector<std::string>& addresses,
                                              std::vector<std::string>& names) {
  if (!addresses.empty()) co_return absl::OkStatus();
  placement_ = Place(AllowedCpus());
  PinThisThread(placement_.others);
  auto agent = co_await StartLocalAgent(loop_.get_executor(), placement_, options_.log_level,
                                        [this] { return interrupted_; });
  if (!agent.ok()) co_return agent.status();
  local_agent_.emplace(*std::move(agent));
  addresses = {local_agent_->address()};
  names = {"local"};
  co_return absl::OkStatus();
}

Task<absl::Status> RunController::StartWeb() {
  auto web = co_await SetUpWeb(loop_.get_executor(), options_, placement_, identity_.run_id,
                               identity_.folder, [this] { return interrupted_; });
  if (!web.ok()) co_return web.status();
  web_ = *std::move(web);
  co_return absl::OkStatus();
}

// One agent that is ready is enough: the others are told of, and counted as lost.
Task<absl::Status> RunController::PrepareTarget(std::vector<std::string> addresses,
                                                std::vector<std::string> names,
                                                std::vector<bool>& reached) {
  auto plan = co_await PlanTarget(loop_.get_executor(), options_);
  if (!plan.ok()) co_return plan.status();
  target_ = plan->spec;
  preparing_.clear();
  for (const std::string& name : names) preparing_.emplace_back().name = name;
  PrepareLimits limits;
  limits.connect = options_.connect_timeout;
  PrepareEvents events;
  events.progress = [this](size_t i, const v1::PrepareProgress& p) { ShowPrepare(i, p); };
  events.stopped = [this] { return interrupted_ || engine_->stopping(); };
  const auto results = co_await PrepareAll(loop_.get_executor(), std::move(addresses),
                                           *std::move(plan), limits, std::move(events));
  absl::Status failure = absl::OkStatus();
  size_t ready = 0;
  std::string troubles;
  for (size_t i = 0; i < results.size(); ++i) {
    const absl::Status& status = results[i].status();
    reached[i] = !absl::IsUnavailable(status);
    if (status.ok()) {
      ++ready;
      if (!facts_) facts_ = *results[i];
    } else if (results.size() > 1 && !absl::IsCancelled(status)) {
      spdlog::error("agent {}: {}", names[i], std::string(status.message()));
    }
    if (status.ok()) continue;
    if (failure.ok()) failure = status;
    troubles += fmt::format("{}{}: {}", troubles.empty() ? "" : "; ", names[i],
                            std::string(status.message()));
  }
  if (ready > 0 || absl::IsCancelled(failure)) co_return ready > 0 ? absl::OkStatus() : failure;
  co_return absl::Status(failure.code(), fmt::format("no agent could make target {} ready: {}",
                                                     options_.target.name, troubles));
}

void RunController::ShowPrepare(size_t agent, const v1::PrepareProgress& progress) {
  AgentProgress& row = preparing_[agent];
  row.state = AgentState::kPreparing;
  row.note = progress.message();
  if (progress.send_context()) {
    display_.Log(fmt::format("Building {} on {}; the first time takes minutes.",
                             options_.target.name, row.name));
  }
  spdlog::info("agent {}: {}", row.name, progress.message());
}

Task<absl::Status> RunController::ConnectAgents(std::vector<std::string> addresses,
                                                std::vector<std::string> names,
                                                std::vector<bool> reached) {
  std::vector<bool> same_clock;
  for (const std::string& address : addresses) same_clock.push_back(IsLocalAddress(address));
  const v1::Start start = MakeStart(identity_.run_id, options_, target_, web_ ? &*web_ : nullptr);
  engine_->Connect(addresses, names, same_clock, start);
  if (addresses.size() > 1) {
    display_.Log(fmt::format("Concurrency: {} for each of {} agents, {} in total.",
                             options_.concurrency, addresses.size(),
                             uint64_t{options_.concurrency} * addresses.size()));
  }
  const absl::Status connected =
      co_await RunEngine::WaitConnected(engine_, options_.connect_timeout, std::move(reached));
  if (!connected.ok()) co_return connected;
  const OriginConfig* config = web_ ? &web_->config : nullptr;
  co_return folder_->Write("run.json", MakeRunJson(options_, identity_, config, &engine_->board(),
                                                   facts_ ? &*facts_ : nullptr));
}

Task<absl::Status> RunController::AwaitList() {
  while (!load_status_ && !engine_->stopping()) co_await loaded_.WaitUntil();
  if (!load_status_) co_return absl::OkStatus();  // stopped; the end waits for the loader
  co_return *load_status_;
}

Task<absl::Status> RunController::BeginOnOrigin() {
  if (!web_ || engine_->stopping()) co_return absl::OkStatus();
  if (!list_.all_hosts) {
    spdlog::warn(
        "more than {} hosts: certificates of the others are issued when they are asked for, which "
        "costs the origin time",
        OriginClient::kMaxCertificates);
  }
  const absl::Status issued =
      co_await web_->client->IssueCertificates(list_.hosts, [this] { return engine_->stopping(); });
  if (!issued.ok()) co_return issued;
  list_.hosts = {};
  co_return co_await web_->client->BeginRun(identity_.run_id);
}

void RunController::Interrupt() {
  interrupted_ = true;
  stop_loading_ = true;
  if (engine_) engine_->Stop(RunEnd::kInterrupted, "stopped by the user");
  loaded_.Notify();
}

Task<> RunController::WatchSignals() {
  while (!over_) {
    auto [error, number] = co_await signals_.async_wait(kAsTuple);
    if (error || over_) co_return;
    // A hang-up may come twice, from the shell and from the kernel.
    if (interrupted_ && number == SIGHUP) continue;
    if (interrupted_) {
      // Children die with this thread; nothing else is waited for.
      display_.Finish(LastFrame::kKeep);
      local_agent_.reset();
      std::_Exit(static_cast<int>(ExitCode::kInterrupted));
    }
    Interrupt();
  }
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
  if (engine_ && engine_->stopping()) return "stopping";
  if (feeding_) return "running";
  return load_status_ ? "preparing" : "reading the list";
}

ProgressSnapshot RunController::Snapshot() {
  const SteadyTime now = clock_.Now();
  ProgressSnapshot s;
  s.title = MakeTitle(options_);
  if (!presentation_.title_note.empty()) s.title += ", " + presentation_.title_note;
  s.phase = Phase();
  const auto counts = engine_->counts();
  if (counts) s.total = counts->total;
  const Aggregator& aggregator = engine_->aggregator();
  s.done = engine_->committed();
  s.elapsed_s = feeding_ ? std::chrono::duration<double>(now - began_).count() : 0;
  record_rate_.Sample(now, s.done);
  byte_rate_.Sample(now, aggregator.body_bytes());
  s.rate_now = record_rate_.PerSecond();
  s.rate_overall = s.elapsed_s > 0 ? static_cast<double>(s.done) / s.elapsed_s : 0;
  s.eta_s = EstimateEta(s.total, s.done, s.rate_now, s.rate_overall);
  s.classes = aggregator.classes();
  s.outcomes = aggregator.outcomes();
  s.p50_us = aggregator.DurationQuantileUs(0.5);
  s.p90_us = aggregator.DurationQuantileUs(0.9);
  s.p99_us = aggregator.DurationQuantileUs(0.99);
  s.bytes = aggregator.body_bytes();
  s.bytes_per_s = byte_rate_.PerSecond();
  if (!engine_->connected()) {
    s.agents = preparing_;
    s.concurrency = uint64_t{options_.concurrency} * s.agents.size();
  } else {
    s.agents = engine_->board().Rows(now);
    s.in_flight = engine_->board().InFlight();
    s.concurrency = uint64_t{options_.concurrency} * s.agents.size();
  }
  return s;
}

Task<> RunController::ShowProgress() {
  while (!over_) {
    progress_timer_.expires_after(kProgressInterval);
    auto [error] = co_await progress_timer_.async_wait(kAsTuple);
    if (error || over_) co_return;
    if (engine_ && display_.Due(clock_.Now())) display_.Update(Snapshot(), clock_.Now());
  }
}

Task<std::optional<OriginSummary>> RunController::AskOrigin(bool hurry) {
  if (!web_ || !feeding_ || (hurry && !web_->is_own())) co_return std::nullopt;
  auto summary = co_await web_->client->RunStatistics(identity_.run_id);
  if (!summary.ok()) {
    origin_trouble_ = std::string(summary.status().message());
    if (const auto ended = web_->process ? web_->process->Ended() : std::nullopt) {
      origin_trouble_ = "it ended during the run, " + *ended;
    }
    spdlog::warn("no figures from the origin: {}", origin_trouble_);
    co_return std::nullopt;
  }
  co_return *std::move(summary);
}

Task<> RunController::StopChildren(bool hurry) {
  // An agent removes its container, for which the Engine takes its time.
  const std::chrono::milliseconds limit(hurry ? 200 : 2000);
  if (local_agent_) {
    local_agent_->process().Stop(options_.target.is_container() ? limit + kRemoveLimit : limit);
  }
  if (web_ && web_->process) web_->process->Stop(limit);
  local_agent_.reset();
  if (web_ && web_->container) co_await web_->container->Remove();
}

Summary RunController::Summarise(const EngineEnd& end, std::optional<OriginSummary> origin) const {
  Summary s;
  const AgentBoard* board = engine_->connected() ? &engine_->board() : nullptr;
  s.facts = MakeFacts(options_, identity_, web_ ? &web_->config : nullptr, board,
                      facts_ ? &*facts_ : nullptr);
  s.end = end.end;
  s.reason = end.reason;
  s.measured = engine_->aggregator().Result();
  s.ledger = MakeLedger(list_.counts, engine_->counts(), engine_->committed());
  s.invalid_lines = list_.counts.invalid;
  if (board != nullptr) {
    s.cost = board->TotalCost();
    s.agents = board->Summaries();
  }
  s.cost.coordinator_cpu_us = ProcessCpuUs() - cpu_before_us_;
  s.origin = std::move(origin);
  s.origin_trouble = origin_trouble_;
  if (!s.ledger.Balanced() && s.end != RunEnd::kInterrupted) s.end = RunEnd::kIncomplete;
  for (const AgentSummary& agent : s.agents) {
    if (!agent.lost && agent.reconnects == 0) continue;
    s.degraded = true;
    if (s.reason.empty()) s.reason = fmt::format("agent {}: {}", agent.name, agent.trouble);
  }
  s.marks = FindMarks(s);
  return s;
}

ExitCode RunController::ExitCodeOf(const EngineEnd& end, const Summary& summary) const {
  if (!end.error.ok()) {
    switch (end.error.code()) {
      case absl::StatusCode::kInvalidArgument:
      case absl::StatusCode::kNotFound:
        return ExitCode::kUsage;
      default:
        return feeding_ || !preparing_.empty() ? ExitCode::kIncomplete : ExitCode::kInternalError;
    }
  }
  switch (summary.end) {
    case RunEnd::kComplete:
    case RunEnd::kDuration:
      return ExitCode::kDone;
    case RunEnd::kInterrupted:
      return ExitCode::kInterrupted;
    case RunEnd::kIncomplete:
      return ExitCode::kIncomplete;
  }
  return ExitCode::kInternalError;
}

// Interrupted: waits a second at most for a reader that does not read; summary.json has it all.
absl::Status RunController::Print(const Summary& summary) const {
  const std::string text = RenderSummary(summary, options_.format, stdout_style_);
  if (!interrupted_) return WriteText(STDOUT_FILENO, text);
  WriteText(STDOUT_FILENO, text, kHurriedPrint).IgnoreError();
  return absl::OkStatus();
}

// An error after the engine is there, and before anything runs.
Task<ExitCode> RunController::GiveUp(absl::Status error) {
  engine_->Stop(RunEnd::kIncomplete, std::string(error.message()));
  co_await RunEngine::WaitEnd(engine_);
  const absl::Status closed = co_await RunEngine::CloseStore(engine_, false);
  if (!closed.ok()) spdlog::error("{}", std::string(closed.message()));
  co_return Report(error);
}

ExitCode RunController::Report(const absl::Status& error) {
  result_.error = error;
  display_.Finish(LastFrame::kKeep);
  display_.Log("coordinator: " + std::string(error.message()));
  const bool usage = absl::IsInvalidArgument(error) || absl::IsNotFound(error);
  return usage ? ExitCode::kUsage : ExitCode::kInternalError;
}

Task<ExitCode> RunController::WrapUp(EngineEnd end) {
  const bool hurry = interrupted_;
  std::optional<OriginSummary> origin = co_await AskOrigin(hurry);
  if (!hurry && feeding_ && presentation_.before_web_ends) {
    OriginClient* client = web_ ? web_->client.get() : nullptr;
    co_await presentation_.before_web_ends(client, identity_.folder);
  }
  co_await StopChildren(hurry);
  const bool index = !hurry || engine_->committed() <= kMaxRowsToIndexInHurry;
  const absl::Status closed = co_await RunEngine::CloseStore(engine_, index);
  if (end.error.ok()) end.error = closed;
  bool store_failed = !closed.ok();
  const Summary summary = Summarise(end, std::move(origin));
  if (absl::Status s = folder_->Write("summary.json", RenderJson(summary)); !s.ok()) {
    spdlog::error("{}", std::string(s.message()));
    if (end.error.ok()) end.error = s;
    store_failed = true;
  }
  display_.Update(Snapshot(), clock_.Now());
  display_.Finish(feeding_ && isatty(STDOUT_FILENO) == 1 ? LastFrame::kErase : LastFrame::kKeep);
  if (!end.error.ok()) display_.Log("coordinator: " + std::string(end.error.message()));
  signals_.clear();  // from here on Ctrl-C ends the program as it would end any other
  result_.error = end.error;
  result_.summary = summary;
  const absl::Status printed = feeding_ && !presentation_.quiet ? Print(summary) : absl::OkStatus();
  if (!printed.ok()) {
    display_.Log("coordinator: standard output: " + std::string(printed.message()));
    co_return ExitCode::kInternalError;
  }
  co_return store_failed ? ExitCode::kInternalError : ExitCodeOf(end, summary);
}

}  // namespace fetchbench::coordinator
