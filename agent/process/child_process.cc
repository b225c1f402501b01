#include "agent/process/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "agent/process/open_files.h"
#include "agent/process/proc_usage.h"
#include "agent/process/target_pipes.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A process that the target left behind may hold its pipes open; after the target's end they are
// read for so long at most.
constexpr milliseconds kPipeDrain{1'000};
// How often a target's output is an occasion to note its peak memory. Whoever asks for its usage
// does so every second or so, and a short run would be over before.
constexpr milliseconds kPeakEvery{100};
// On kernels without pidfd.
constexpr milliseconds kExitPoll{20};

}  // namespace

std::string DescribeExit(const TargetExit& exit) {
  std::string text = fmt::format("ended with exit code {}", exit.code);
  if (exit.code < 0) {
    text = fmt::format("was killed by signal {} ({})", -exit.code, strsignal(-exit.code));
  }
  return exit.note.empty() ? text : fmt::format("{}: {}", text, exit.note);
}

// Lives until the child is reaped, whatever happens to its owner. On the loop.
class ChildProcess::Running : public std::enable_shared_from_this<Running> {
 public:
  Running(const net::any_io_executor& loop, Child child, TargetSink& sink)
      : loop_(loop),
        pid_(child.pid),
        pipes_(std::make_shared<TargetPipes>(loop, std::move(child.pipes), Events())),
        exit_(loop),
        sink_(&sink) {
    if (child.exit.valid()) exit_.assign(child.exit.Release());
  }

  void Start() {
    pipes_->Begin();
    Spawn(loop_, "target exit", WaitForExit(shared_from_this()));
  }

  TargetPipes& pipes() { return *pipes_; }
  bool writable() const { return pipes_->writable() && !reaped_; }

  void Signal(int number) {
    if (!reaped_) kill(-pid_, number);
  }

  void Abandon() {
    sink_ = nullptr;
    Signal(SIGKILL);
  }

  TargetUsage Usage() {
    if (!reaped_) {
      usage_ = LiveUsage(pid_);
      const OpenFiles files = open_files_.Count({pid_}, steady_clock::now());
      usage_.open_files = files.files;
      usage_.open_sockets = files.sockets;
      peak_rss_ = std::max(peak_rss_, usage_.peak_rss_bytes);
    }
    usage_.peak_rss_bytes = peak_rss_;
    return usage_;
  }

  pid_t pid() const { return pid_; }

 private:
  using Self = std::shared_ptr<Running>;

  // Valid until Report, which closes the pipes.
  TargetPipes::Events Events() {
    const auto output = [this](std::string_view bytes) {
      NotePeak();
      if (sink_ != nullptr) sink_->OnOutput(bytes);
    };
    const auto writable = [this] {
      if (sink_ != nullptr) sink_->OnWritable();
    };
    return {output, writable};
  }

  static Task<> WaitForExit(Self self) {
    net::steady_timer timer(self->loop_);
    int status = 0;
    rusage usage{};
    while (wait4(self->pid_, &status, WNOHANG, &usage) == 0) {
      if (self->exit_.is_open()) {
        co_await self->exit_.async_wait(net::posix::stream_descriptor::wait_read, kAsTuple);
      } else {
        timer.expires_after(kExitPoll);
        co_await timer.async_wait(kAsTuple);
      }
    }
    self->Reaped(status, usage);
    co_await TargetPipes::WaitDrained(self->pipes_, steady_clock::now() + kPipeDrain);
    self->Report();
  }

  void Reaped(int status, const rusage& usage) {
    kill(-pid_, SIGKILL);  // what it left behind; the group outlives its leader
    reaped_ = true;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    usage_ = FinalUsage(usage);
    // A target that ended before anybody looked has no peak of its own (see FinalUsage).
    usage_.peak_rss_bytes = peak_rss_;
    error_code ignored;
    exit_.close(ignored);
    pipes_->CloseInput();
  }

  void Report() {
    pipes_->Close();
    TargetSink* sink = std::exchange(sink_, nullptr);
    if (sink != nullptr) sink->OnExit(TargetExit{exit_code_, usage_, pipes_->StderrTail(), {}});
  }

  void NotePeak() {
    const SteadyTime now = steady_clock::now();
    if (reaped_ || now < next_peak_) return;
    next_peak_ = now + kPeakEvery;
    peak_rss_ = std::max(peak_rss_, PeakMemory(pid_));
  }

  net::any_io_executor loop_;
  const pid_t pid_;
  const std::shared_ptr<TargetPipes> pipes_;
  net::posix::stream_descriptor exit_;
  TargetSink* sink_;
  TargetUsage usage_;
  OpenFileCounter open_files_;
  uint64_t peak_rss_ = 0;
  SteadyTime next_peak_{};
  int exit_code_ = 0;
  bool reaped_ = false;
};

ChildProcess::ChildProcess(net::any_io_executor loop, std::vector<int> cpus)
    : loop_(std::move(loop)), cpus_(std::move(cpus)) {}

ChildProcess::~ChildProcess() {
  if (running_) running_->Abandon();
}

Task<absl::Status> ChildProcess::Start(TargetCommand command, TargetSink& sink) {
  absl::StatusOr<Child> child = ForkExec(command, command.cpus.empty() ? cpus_ : command.cpus);
  if (!child.ok()) co_return child.status();
  running_ = std::make_shared<Running>(loop_, std::move(*child), sink);
  running_->Start();
  co_return absl::OkStatus();
}

std::string ChildProcess::CostBasis() const {
  return "CPU of the process (wait4); peak is its resident memory (VmHWM), shared pages included, "
         "page cache not";
}

void ChildProcess::Feed(std::string bytes) { running_->pipes().Feed(std::move(bytes)); }

bool ChildProcess::writable() const { return running_ && running_->writable(); }

void ChildProcess::CloseInput() {
  if (running_) running_->pipes().CloseInput();
}

void ChildProcess::Terminate() {
  if (running_) running_->Signal(SIGTERM);
}

void ChildProcess::Kill() {
  if (running_) running_->Signal(SIGKILL);
}

TargetUsage ChildProcess::Usage() { return running_ ? running_->Usage() : TargetUsage{}; }

pid_t ChildProcess::pid() const { return running_ ? running_->pid() : -1; }

}  // namespace fetchbench::agent
