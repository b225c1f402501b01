#include "agent/process/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <utility>

#include "agent/process/open_files.h"
#include "agent/process/proc_usage.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kReadBytes = 256 << 10;
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
        input_(loop, child.input.Release()),
        output_(loop, child.output.Release()),
        errors_(loop, child.errors.Release()),
        exit_(loop),
        pipes_closed_(loop),
        sink_(&sink) {
    if (child.exit.valid()) exit_.assign(child.exit.Release());
  }

  void Start() {
    Spawn(loop_, "target output", ReadOutput(shared_from_this()));
    Spawn(loop_, "target stderr", ReadErrors(shared_from_this()));
    Spawn(loop_, "target exit", WaitForExit(shared_from_this()));
  }

  void Feed(std::string bytes) {
    writing_ = true;
    Spawn(loop_, "target input", WriteInput(shared_from_this(), std::move(bytes)));
  }

  void CloseInput() {
    close_wanted_ = true;
    if (!writing_) CloseInputNow();
  }

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

  bool writable() const { return input_.is_open() && !writing_ && !close_wanted_ && !reaped_; }
  pid_t pid() const { return pid_; }

 private:
  using Self = std::shared_ptr<Running>;

  static Task<> WriteInput(Self self, std::string bytes) {
    const auto [error, n] = co_await net::async_write(self->input_, net::buffer(bytes), kAsTuple);
    self->writing_ = false;
    // EPIPE: it reads no more. What that means is decided when it ends, or hangs.
    if (error || self->close_wanted_) {
      self->CloseInputNow();
    } else if (self->sink_ != nullptr) {
      self->sink_->OnWritable();
    }
  }

  static Task<> ReadOutput(Self self) {
    std::string buffer(kReadBytes, '\0');
    while (true) {
      const auto [error, n] = co_await self->output_.async_read_some(net::buffer(buffer), kAsTuple);
      if (error) break;
      self->NotePeak();
      if (self->sink_ != nullptr) self->sink_->OnOutput(std::string_view(buffer.data(), n));
    }
    self->OnePipeClosed();
  }

  static Task<> ReadErrors(Self self) {
    std::array<char, 4096> buffer{};
    while (true) {
      const auto [error, n] = co_await self->errors_.async_read_some(net::buffer(buffer), kAsTuple);
      if (error) break;
      self->stderr_.Append(std::string_view(buffer.data(), n));
    }
    self->OnePipeClosed();
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
    const SteadyTime deadline = steady_clock::now() + kPipeDrain;
    while (self->open_pipes_ > 0) {
      if (!co_await self->pipes_closed_.WaitUntil(deadline)) break;
    }
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
    if (!writing_) CloseInputNow();
  }

  void Report() {
    error_code ignored;
    output_.close(ignored);
    errors_.close(ignored);
    input_.close(ignored);
    TargetSink* sink = std::exchange(sink_, nullptr);
    if (sink != nullptr) sink->OnExit(TargetExit{exit_code_, usage_, stderr_.Text(), {}});
  }

  void NotePeak() {
    const SteadyTime now = steady_clock::now();
    if (reaped_ || now < next_peak_) return;
    next_peak_ = now + kPeakEvery;
    peak_rss_ = std::max(peak_rss_, PeakMemory(pid_));
  }

  void OnePipeClosed() {
    --open_pipes_;
    pipes_closed_.Notify();
  }

  void CloseInputNow() {
    error_code ignored;
    input_.close(ignored);
  }

  net::any_io_executor loop_;
  const pid_t pid_;
  net::posix::stream_descriptor input_;
  net::posix::stream_descriptor output_;
  net::posix::stream_descriptor errors_;
  net::posix::stream_descriptor exit_;
  Wakeup pipes_closed_;
  TargetSink* sink_;
  TextTail stderr_{kStderrTailBytes};
  TargetUsage usage_;
  OpenFileCounter open_files_;
  uint64_t peak_rss_ = 0;
  SteadyTime next_peak_{};
  int open_pipes_ = 2;
  int exit_code_ = 0;
  bool writing_ = false;
  bool close_wanted_ = false;
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

void ChildProcess::Feed(std::string bytes) { running_->Feed(std::move(bytes)); }

bool ChildProcess::writable() const { return running_ && running_->writable(); }

void ChildProcess::CloseInput() {
  if (running_) running_->CloseInput();
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
