#include "agent/run_keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "agent/host_facts.h"
#include "agent/native_command.h"
#include "agent/one_line.h"
#include "agent/process/child_process.h"
#include "agent/start_check.h"
#include "common/busy_words.h"
#include "common/log.h"
#include "common/record_line.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

namespace level = spdlog::level;

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kShownNameBytes = 100;
// For a coordinator that lost its connection at the very end.
constexpr std::chrono::seconds kRemainsLife{60};

absl::Status WithHint(const v1::TargetSpec& target, const absl::Status& status) {
  if (!absl::IsNotFound(status) || target.name() != kNativeTarget) return status;
  return absl::NotFoundError(
      fmt::format("{}; tell the agent where it is with --native", std::string(status.message())));
}

v1::AgentMessage FailedToBegin(const std::string& run_id, const absl::Status& why) {
  const std::string text(why.message());
  LogEvent(level::err, "run_refused", {{"run", run_id}, {"why", text}}, text);
  v1::AgentMessage message;
  message.mutable_failed()->set_code(static_cast<int>(why.code()));
  message.mutable_failed()->set_message(text);
  return message;
}

// Both sessions of a coordinator that has this agent by two names would take the run from each
// other for as long as it lasts: it stays with the one that began it.
absl::Status CheckSameName(const v1::Start& start, const ActiveRun& run) {
  const std::string& name = run.agent();
  if (name.empty() || start.agent().empty() || name == start.agent()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      fmt::format("it is the same agent as {}, which has this run already: name it once",
                  OneLine(name, kShownNameBytes)));
}

void LogEnd(const std::string& run_id, const v1::AgentMessage& final, bool cancelled) {
  if (final.has_failed()) {
    const v1::Failed& failed = final.failed();
    LogEvent(level::err, "run_ended",
             {{"run", run_id},
              {"result", "failed"},
              {"records", failed.totals().records()},
              {"target_exit_code", failed.totals().target_exit_code()},
              {"why", failed.message()}},
             fmt::format("run {} failed: {}", run_id, failed.message()));
    return;
  }
  const char* const result = cancelled ? "cancelled" : "finished";
  LogEvent(level::info, "run_ended",
           {{"run", run_id},
            {"result", result},
            {"records", final.finished().records()},
            {"target_exit_code", final.finished().target_exit_code()}},
           fmt::format("run {} is {}, {} records", run_id, result, final.finished().records()));
}

}  // namespace

RunKeeper::RunKeeper(AgentConfig config, const Clock& clock, net::any_io_executor loop)
    : config_(std::move(config)),
      clock_(clock),
      loop_(std::move(loop)),
      containers_(loop_, config_),
      native_(loop_, config_) {}

std::function<bool()> RunKeeper::Stopping() const {
  return [this] { return shutting_down_; };
}

Task<absl::StatusOr<RunKeeper::Opened>> RunKeeper::Open(v1::Start start) {
  if (absl::Status s = CheckStart(start, config_.version); !s.ok()) co_return s;
  if (shutting_down_) co_return absl::UnavailableError("the agent is shutting down");
  if (run_ && run_->id() == start.run_id()) {
    if (absl::Status s = CheckSameName(start, *run_); !s.ok()) co_return s;
    LogEvent(level::info, "coordinator_back", {{"run", start.run_id()}},
             fmt::format("run {} is taken over by a new stream", start.run_id()));
    ++counts_.reconnects;
    Opened opened;
    opened.run = run_;
    // Of what the coordinator had lent this agent, one that was lent nothing knows nothing.
    opened.resumed = !run_->executor().untouched();
    co_return opened;
  }
  if (absl::Status s = CheckFree(start.run_id()); !s.ok()) co_return s;
  if (std::optional<v1::AgentMessage> final = RemainsOf(start)) {
    Opened opened;
    opened.final = std::move(final);
    opened.resumed = true;
    co_return opened;
  }
  absl::Status refusal = memory_.CheckRun(start.run_id());
  if (start.run_id() == cancelled_)
    refusal = absl::CancelledError(fmt::format("run {} was cancelled on this agent", cancelled_));
  if (!refusal.ok()) {
    Opened refused;
    refused.final = FailedToBegin(start.run_id(), refusal);
    co_return refused;
  }
  if (absl::Status s = CheckTarget(start.target()); !s.ok()) co_return s;
  if (run_ && run_->unused()) DropRun("another run is to begin, and nothing was lent to this one");
  opening_ = start.run_id();
  opening_since_us_ = clock_.WallUs();
  absl::StatusOr<Opened> opened = co_await Begin(std::move(start));
  opening_.clear();
  co_return opened;
}

std::optional<v1::AgentMessage> RunKeeper::RemainsOf(const v1::Start& start) {
  if (!remains_ || remains_->run_id != start.run_id()) return std::nullopt;
  // Another position or a later hour: a run that is resumed with new leases, not a reconnect.
  if (remains_->last_seq != start.last_committed_seq() || clock_.Now() > remains_->until) {
    remains_.reset();
    return std::nullopt;
  }
  return remains_->final;  // kept: this stream may break too
}

absl::Status RunKeeper::CheckFree(const std::string& run_id) const {
  if (run_ && !run_->unused()) {
    std::string since;
    AppendRfc3339(since, run_->since_us());
    return absl::ResourceExhaustedError(
        fmt::format("{}{} since {}", kBusyWithRun, run_->id(), since));
  }
  // A coordinator that lost its connection meanwhile is to come again, not to give this agent up.
  if (!opening_.empty() && opening_ == run_id) {
    return absl::UnavailableError(fmt::format("run {} is still being started: try again", run_id));
  }
  if (!opening_.empty()) {
    return absl::ResourceExhaustedError(fmt::format("{}{}", kBusyWithStartingRun, opening_));
  }
  return absl::OkStatus();
}

Task<absl::StatusOr<TargetLaunch>> RunKeeper::Launch(v1::Start start) {
  if (IsContainer(start.target())) {
    std::function<bool()> stopping = Stopping();
    co_return co_await containers_.Launch(std::move(start), std::move(stopping));
  }
  std::function<bool()> stopping = Stopping();
  absl::StatusOr<v1::TargetFacts> facts = co_await native_.Ask(std::move(stopping));
  if (!facts.ok()) {
    // A target that cannot describe itself may still fetch; what it is stays unknown.
    spdlog::warn("{}", std::string(facts.status().message()));
    facts = v1::TargetFacts();
    facts->set_name(start.target().name());
  }
  TargetLaunch launch;
  launch.process = std::make_unique<ChildProcess>(loop_, config_.child_cpus);
  launch.command = NativeCommand(config_.native_path, start.options());
  launch.facts = *std::move(facts);
  co_return launch;
}

Task<absl::StatusOr<RunKeeper::Opened>> RunKeeper::Begin(v1::Start start) {
  absl::StatusOr<TargetLaunch> launch = co_await Launch(start);
  if (!launch.ok()) co_return launch.status();
  if (shutting_down_) co_return absl::UnavailableError("the agent is shutting down");
  absl::StatusOr<std::shared_ptr<ActiveRun>> run =
      co_await ActiveRun::Begin(config_, clock_, start, *std::move(launch));
  if (!run.ok()) co_return WithHint(start.target(), run.status());
  if (shutting_down_) co_return absl::UnavailableError("the agent is shutting down");
  LogEvent(level::info, "run_started",
           {{"run", start.run_id()},
            {"target", start.target().name()},
            {"concurrency", start.options().concurrency()},
            {"timeout_ms", start.options().timeout_ms()}},
           fmt::format("run {} starts: target {}, concurrency {}, timeout {} ms", start.run_id(),
                       start.target().name(), start.options().concurrency(),
                       start.options().timeout_ms()));
  run_ = *run;
  remains_.reset();
  Spawn(loop_, "run watch", Watch(run_));
  Opened opened;
  opened.run = run_;
  co_return opened;
}

Task<> RunKeeper::Watch(std::shared_ptr<ActiveRun> run) {
  net::steady_timer timer(loop_);
  while (run_ == run) {
    timer.expires_after(ActiveRun::kTick);
    co_await timer.async_wait(kAsTuple);
    run->Tick();
    if (run_ == run && !run->attached()) ConcludeIfOver(run);
    if (run_ == run && run->orphaned()) DropRun("its coordinator stayed away");
  }
}

void RunKeeper::DropRun(const std::string& why) {
  if (!run_) return;
  LogEvent(level::warn, "run_dropped", {{"run", run_->id()}, {"why", why}},
           fmt::format("run {} is dropped: {}", run_->id(), why));
  ++counts_.runs_dropped;
  run_->Displace(absl::UnavailableError("the agent dropped the run: " + why));
  Drop(run_);
}

void RunKeeper::HungUpForMemory(uint64_t bytes) {
  ++counts_.memory_hangups;
  memory_.HungUp(bytes, config_.memory_limit_bytes, clock_.WallUs());
}

void RunKeeper::DropRunForMemory(uint64_t bytes) {
  if (run_) memory_.Dropped(run_->id(), bytes, config_.memory_limit_bytes, clock_.WallUs());
  DropRun("it takes too much memory");
}

void RunKeeper::Conclude(const std::shared_ptr<ActiveRun>& run, v1::AgentMessage final) {
  if (run_ != run) return;
  if (final.has_failed()) {
    ++counts_.runs_failed;
  } else {
    ++(run->executor().cancelled() ? counts_.runs_cancelled : counts_.runs_finished);
  }
  const uint64_t last_seq =
      final.has_failed() ? final.failed().totals().last_seq() : final.finished().last_seq();
  if (run->executor().cancelled()) cancelled_ = run->id();
  remains_ = Remains{run->id(), std::move(final), last_seq, clock_.Now() + kRemainsLife};
  LogEnd(run->id(), remains_->final, run->executor().cancelled());
  Drop(run);
}

void RunKeeper::Delivered(const std::string& run_id) {
  if (remains_ && remains_->run_id == run_id) remains_.reset();
}

void RunKeeper::Left(const std::shared_ptr<ActiveRun>& run) {
  if (run_ != run || run->attached()) return;
  ConcludeIfOver(run);
  if (run_ != run) return;
  // A target that was started for a stream that had gone by then is there for the next one.
  if (run->unused() && run->told_usage()) {
    DropRun("its coordinator left before it had lent a URL");
    return;
  }
  LogEvent(level::warn, "coordinator_away", {{"run", run->id()}},
           fmt::format("run {}: the coordinator's stream is gone", run->id()));
}

// All records are committed: nothing needs to wait for this coordinator.
void RunKeeper::ConcludeIfOver(const std::shared_ptr<ActiveRun>& run) {
  std::optional<v1::AgentMessage> final = run->Final();
  if (final) Conclude(run, std::move(*final));
}

void RunKeeper::Drop(const std::shared_ptr<ActiveRun>& run) {
  if (run_ != run) return;
  counts_.past.Merge(run->counts());
  run_.reset();
}

void RunKeeper::ShutDown() {
  shutting_down_ = true;
  containers_.ShutDown();
  if (!run_) return;
  run_->Displace(absl::UnavailableError("the agent is shutting down"));
  run_.reset();
}

absl::Status RunKeeper::CheckTarget(const v1::TargetSpec& target) const {
  if (IsContainer(target)) {
    if (config_.no_containers.empty()) return absl::OkStatus();
    return absl::PermissionDeniedError(fmt::format("target '{}' is not run here: {}",
                                                   OneLine(target.name(), kShownNameBytes),
                                                   config_.no_containers));
  }
  if (target.name() == kNativeTarget) return absl::OkStatus();
  return absl::NotFoundError(fmt::format(
      "target '{}': this agent offers {}; any other comes with its folder or the name of an image",
      OneLine(target.name(), kShownNameBytes), kNativeTarget));
}

void RunKeeper::CleanUp() { containers_.CleanUp(); }

Task<v1::DescribeResponse> RunKeeper::Describe() {
  std::string engine = co_await containers_.EngineVersion();
  v1::DescribeResponse response;
  response.set_version(config_.version);
  response.set_instance_id(config_.instance_id);
  *response.mutable_host() = config_.host;
  response.mutable_host()->set_clock_us(clock_.WallUs());
  response.mutable_host()->set_docker(std::move(engine));
  response.set_load_permille(LoadPermille());
  if (config_.credentials) {
    response.set_certificate_not_after_us(config_.credentials->NotAfter() * kMicrosPerSecond);
  }
  if (run_ && !run_->unused()) {
    response.set_busy_run_id(run_->id());
    response.set_busy_since_us(run_->since_us());
  } else if (!opening_.empty()) {
    response.set_busy_run_id(opening_);
    response.set_busy_since_us(opening_since_us_);
  }
  if (memory_.last() != nullptr) *response.mutable_memory_trouble() = *memory_.last();
  if (access(config_.native_path.c_str(), X_OK) == 0)
    response.add_targets(std::string(kNativeTarget));
  for (std::string& name : containers_.images().Described()) response.add_targets(std::move(name));
  co_return response;
}

Task<absl::StatusOr<v1::TargetFacts>> RunKeeper::Facts(v1::TargetSpec target) {
  if (absl::Status s = CheckTarget(target); !s.ok()) co_return s;
  absl::Status idle = CheckIdle();
  if (!IsContainer(target)) {
    if (!idle.ok() && !native_.Known()) co_return idle;
    std::function<bool()> stopping = Stopping();
    absl::StatusOr<v1::TargetFacts> facts = co_await native_.Ask(std::move(stopping));
    if (!facts.ok()) co_return WithHint(target, facts.status());
    co_return facts;
  }
  std::function<bool()> stopping = Stopping();
  co_return co_await containers_.Facts(std::move(target), std::move(idle), std::move(stopping));
}

}  // namespace fetchbench::agent
