#include "agent/container/container_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "agent/container/container_exit.h"
#include "agent/container/container_files.h"
#include "agent/container/container_usage.h"
#include "agent/container/stream_handover.h"
#include "agent/process/target_pipes.h"
#include "common/spawn.h"
#include "common/wakeup.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// One round of waiting for the end; then the Engine is asked whether it is still there.
constexpr milliseconds kWaitRound{60'000};
// After this many rounds without an answer, and a pause each, the container counts as lost.
constexpr int kLostRounds = 5;
constexpr milliseconds kLostPause{500};
// For what a container printed last to arrive after its end.
constexpr milliseconds kOutputDrain{10'000};
// For an Engine to carry SIGKILL out.
constexpr milliseconds kKillPatience{20'000};
// How long "out of memory" is waited for after a SIGKILL by nobody.
constexpr int kOomLooks = 10;
constexpr milliseconds kOomPause{50};
constexpr milliseconds kStatsPeriod{1'000};

}  // namespace

// Lives until the container is removed, whatever happens to its owner. On the loop.
class ContainerProcess::Running : public std::enable_shared_from_this<Running> {
 public:
  Running(std::shared_ptr<ContainerHost> host, ContainerSpec spec, TargetSink& sink)
      : host_(std::move(host)),
        spec_(std::move(spec)),
        name_(fmt::format("fetchbench-target-{}-{}", host_->owner(), host_->NextNumber())),
        ended_(host_->loop()),
        sink_(&sink) {}

  using Self = std::shared_ptr<Running>;

  // Nothing is left behind when this fails.
  static Task<absl::Status> Start(Self self, TargetCommand command) {
    absl::Status started = co_await self->CreateAndStart(std::move(command));
    if (started.ok()) {
      Spawn(self->host_->loop(), "container exit", WaitForExit(self));
      co_return started;
    }
    self->sink_ = nullptr;
    self->CloseStreams();
    co_await self->Remove();
    self->phase_ = Phase::kEnded;
    co_return started;
  }

  TargetPipes& pipes() { return *pipes_; }
  bool writable() const { return phase_ == Phase::kRunning && pipes_->writable(); }

  void Signal(const char* signal) {
    if (phase_ != Phase::kRunning) return;
    Spawn(host_->loop(), "container signal", SendSignal(shared_from_this(), signal));
  }

  void Kill() {
    Signal("SIGKILL");
    if (phase_ == Phase::kRunning && !std::exchange(kill_watched_, true)) {
      Spawn(host_->loop(), "container kill", GiveUpUnlessEnded(shared_from_this()));
    }
  }

  void Abandon() {
    sink_ = nullptr;
    if (phase_ != Phase::kRunning) return;
    Spawn(host_->loop(), "container removal", RemoveNow(shared_from_this()));
  }

  TargetUsage Usage() {
    if (phase_ == Phase::kRunning) return usage_.Read(steady_clock::now());
    return final_usage_;
  }

  const std::string& name() const { return name_; }
  std::string Basis() const { return usage_.Basis(); }

 private:
  enum class Phase { kStarting, kRunning, kEnded };

  Task<absl::Status> CreateAndStart(TargetCommand command) {
    if (spec_.entrypoint.empty()) {
      co_return absl::FailedPreconditionError(
          "its image has no ENTRYPOINT: its Dockerfile must name the program there, not in CMD");
    }
    absl::StatusOr<docker::EngineInfo> info = co_await host_->Info();
    if (!info.ok()) co_return info.status();
    absl::StatusOr<std::string> folder = host_->Folder();
    if (!folder.ok()) co_return folder.status();
    absl::StatusOr<ContainerFiles> files =
        ContainerFiles::Make(*folder, command.ca_pem, spec_.resolver);
    if (!files.ok()) co_return files.status();
    files_ = *std::move(files);
    if (absl::Status s = MakeStreams(*folder); !s.ok()) co_return s;
    const int engine_pid = co_await host_->client().EnginePid();
    RunCgroup cgroup(*info, host_->owner(), host_->NextNumber());
    boost::json::object config =
        ContainerConfig(spec_, command, Mounts(), host_->owner(), cgroup.parent());
    usage_ = ContainerUsage(std::move(cgroup), EngineCost::Begin(engine_pid));
    absl::StatusOr<std::string> id =
        co_await host_->client().CreateContainer(name_, std::move(config));
    if (!id.ok()) co_return id.status();
    id_ = *std::move(id);
    phase_ = Phase::kRunning;
    if (absl::Status s = co_await host_->client().StartContainer(id_); !s.ok()) co_return s;
    if (usage_.Started(id_)) {
      Spawn(host_->loop(), "container stats", PollStats(shared_from_this()));
    }
    co_return absl::OkStatus();
  }

  absl::Status MakeStreams(const std::string& folder) {
    auto handover = StreamHandover::Make(host_->loop(), folder);
    if (!handover.ok()) return handover.status();
    handover_ = *std::move(handover);
    // Called until the pipes are closed, which they are before this object ends.
    TargetPipes::Events events;
    events.output = [this](std::string_view bytes) {
      if (sink_ != nullptr) sink_->OnOutput(bytes);
    };
    events.writable = [this] {
      if (sink_ != nullptr) sink_->OnWritable();
    };
    pipes_ = std::make_shared<TargetPipes>(host_->loop(), handover_->Begin(), std::move(events));
    pipes_->Begin();
    return absl::OkStatus();
  }

  ContainerMounts Mounts() const {
    ContainerMounts mounts = files_.mounts();
    mounts.entry = host_->entry_program();
    mounts.streams = handover_->socket_path();
    return mounts;
  }

  void CloseStreams() {
    if (handover_) handover_->Close();
    if (pipes_) pipes_->Close();
  }

  static Task<> SendSignal(Self self, const char* signal) {
    const absl::Status sent = co_await self->host_->client().KillContainer(self->id_, signal);
    // It may have ended by itself meanwhile.
    if (!sent.ok() && self->phase_ == Phase::kRunning && !absl::IsFailedPrecondition(sent) &&
        !absl::IsNotFound(sent)) {
      spdlog::warn("{}", std::string(sent.message()));
    }
  }

  static Task<> GiveUpUnlessEnded(Self self) {
    const SteadyTime deadline = steady_clock::now() + kKillPatience;
    while (self->phase_ == Phase::kRunning) {
      if (co_await self->ended_.WaitUntil(deadline)) continue;
      if (self->phase_ != Phase::kRunning) break;
      self->final_usage_ = self->usage_.Read(steady_clock::now());
      self->Report(kEngineTroubleCode, "the Docker Engine did not carry SIGKILL out in time");
      break;
    }
  }

  static Task<> RemoveNow(Self self) {
    // Its end wakes WaitForExit, which cleans the rest up.
    const absl::Status removed = co_await self->host_->client().RemoveContainer(self->name_);
    if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
  }

  static Task<> PollStats(Self self) {
    net::steady_timer timer(self->host_->loop());
    while (self->phase_ == Phase::kRunning) {
      absl::StatusOr<docker::ContainerStats> stats =
          co_await self->host_->client().Stats(self->id_);
      if (stats.ok() && self->phase_ == Phase::kRunning) self->usage_.OnStats(*stats);
      timer.expires_after(kStatsPeriod);
      co_await timer.async_wait(kAsTuple);
    }
  }

  // The container's exit code; Unavailable: the Engine does not answer any more; NotFound: it was
  // removed.
  Task<absl::StatusOr<int>> WaitForCode() {
    net::steady_timer pause(host_->loop());
    int lost = 0;
    absl::StatusOr<int> code = absl::UnknownError("");
    while (lost < kLostRounds && phase_ == Phase::kRunning) {
      code = co_await host_->client().WaitContainer(id_, kWaitRound);
      if (code.ok() || absl::IsNotFound(code.status())) break;
      absl::StatusOr<docker::ContainerInfo> info = co_await host_->client().InspectContainer(id_);
      if (info.ok() && info->running) {
        lost = 0;
        continue;
      }
      if (info.ok()) co_return info->exit_code;
      ++lost;
      code = info.status();
      pause.expires_after(kLostPause);
      co_await pause.async_wait(kAsTuple);
    }
    co_return code;
  }

  static Task<> WaitForExit(Self self) {
    const absl::StatusOr<int> code = co_await self->WaitForCode();
    if (!code.ok()) self->NoteTrouble(code.status());
    self->handover_->Close();
    if (code.ok()) {
      const bool drained =
          co_await TargetPipes::WaitDrained(self->pipes_, steady_clock::now() + kOutputDrain);
      if (!drained) spdlog::warn("container {} ended and its output did not", self->name_);
    }
    int result = code.ok() ? TargetExitCode(*code) : kEngineTroubleCode;
    if (code.ok()) co_await self->NoteReason(result);
    self->CloseStreams();
    co_await self->Remove();
    self->Report(result, self->note_);
  }

  void NoteTrouble(const absl::Status& status) {
    if (!note_.empty()) return;
    note_ = absl::IsNotFound(status) ? std::string("its container was removed by somebody else")
                                     : std::string(status.message());
  }

  Task<> NoteReason(int code) {
    absl::StatusOr<docker::ContainerInfo> info = co_await host_->client().InspectContainer(id_);
    // Nobody here killed it. That memory ran out reaches the Engine on another way than the end.
    const bool killed = code == -SIGKILL && !kill_watched_;
    net::steady_timer pause(host_->loop());
    for (int i = 0; killed && info.ok() && !info->oom_killed && i < kOomLooks; ++i) {
      pause.expires_after(kOomPause);
      co_await pause.async_wait(kAsTuple);
      info = co_await host_->client().InspectContainer(id_);
    }
    if (!info.ok()) spdlog::warn("{}", std::string(info.status().message()));
    if (info.ok() && note_.empty()) note_ = ExitNote(*info, spec_.limits.memory_bytes());
  }

  // By name: a create call that was cut off may have made it.
  Task<> Remove() {
    if (phase_ == Phase::kRunning) usage_.Read(steady_clock::now());  // while the shim is there
    const absl::Status removed = co_await host_->client().RemoveContainer(name_);
    if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
    final_usage_ = usage_.Close();
    files_ = ContainerFiles();
  }

  void Report(int code, const std::string& note) {
    phase_ = Phase::kEnded;
    ended_.Notify();
    TargetSink* sink = std::exchange(sink_, nullptr);
    if (sink != nullptr) sink->OnExit(TargetExit{code, final_usage_, pipes_->StderrTail(), note});
  }

  const std::shared_ptr<ContainerHost> host_;
  const ContainerSpec spec_;
  const std::string name_;
  std::string id_;
  ContainerFiles files_;
  std::shared_ptr<StreamHandover> handover_;
  std::shared_ptr<TargetPipes> pipes_;
  ContainerUsage usage_;
  TargetUsage final_usage_;
  Wakeup ended_;
  TargetSink* sink_;
  std::string note_;
  Phase phase_ = Phase::kStarting;
  bool kill_watched_ = false;
};

ContainerProcess::ContainerProcess(std::shared_ptr<ContainerHost> host, ContainerSpec spec)
    : host_(std::move(host)), spec_(std::move(spec)) {}

ContainerProcess::~ContainerProcess() {
  if (running_) running_->Abandon();
}

Task<absl::Status> ContainerProcess::Start(TargetCommand command, TargetSink& sink) {
  running_ = std::make_shared<Running>(host_, spec_, sink);
  absl::Status started = co_await Running::Start(running_, std::move(command));
  if (!started.ok()) {
    co_return absl::Status(started.code(), fmt::format("target {}: {}", spec_.target_name,
                                                       std::string(started.message())));
  }
  co_return started;
}

void ContainerProcess::Feed(std::string bytes) { running_->pipes().Feed(std::move(bytes)); }

bool ContainerProcess::writable() const { return running_ && running_->writable(); }

void ContainerProcess::CloseInput() {
  if (running_) running_->pipes().CloseInput();
}

void ContainerProcess::Terminate() {
  if (running_) running_->Signal("SIGTERM");
}

void ContainerProcess::Kill() {
  if (running_) running_->Kill();
}

TargetUsage ContainerProcess::Usage() { return running_ ? running_->Usage() : TargetUsage{}; }

std::string ContainerProcess::CostBasis() const { return running_ ? running_->Basis() : ""; }

std::string ContainerProcess::name() const { return running_ ? running_->name() : ""; }

}  // namespace fetchbench::agent
