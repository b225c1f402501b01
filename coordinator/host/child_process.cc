#include "coordinator/host/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "common/log.h"
#include "common/status_util.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kMaxReadinessBytes = 4096;
constexpr size_t kMaxLogLineBytes = 16 << 10;
constexpr size_t kMaxLogBytesAtOnce = 256 << 10;
constexpr int kExecFailed = 127;
constexpr int kUsageExitStatus = 2 << 8;  // as waitpid gives it

using Milliseconds = std::chrono::milliseconds;

// Between fork and exec: only what is safe there.
[[noreturn]] void BecomeChild(pid_t parent, int output, int log, const cpu_set_t* cpus,
                              char* const* argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);  // the parent died before prctl
  setpgid(0, 0);                                // Ctrl-C is for us; we tell it what to do
  if (cpus != nullptr) sched_setaffinity(0, sizeof(*cpus), cpus);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(argv[0], argv);
  _exit(kExecFailed);
}

std::string EndInWords(int wait_status) {
  if (WIFSIGNALED(wait_status)) return fmt::format("signal {}", WTERMSIG(wait_status));
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

}  // namespace

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                                 const std::vector<int>& cpus) {
  if (access(arguments[0].c_str(), X_OK) != 0) {
    return FromErrno(errno, fmt::format("cannot start {}", arguments[0]));
  }
  std::array<int, 2> pipe_ends{};
  std::array<int, 2> log_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return FromErrno(errno, "cannot make a pipe");
  if (pipe2(log_ends.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    for (const int fd : pipe_ends) close(fd);
    return FromErrno(error, "cannot make a pipe");
  }
  for (const int fd : {pipe_ends[0], log_ends[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    BecomeChild(parent, pipe_ends[1], log_ends[1], cpus.empty() ? nullptr : &set, argv.data());
  const int fork_error = errno;
  for (const int fd : {pipe_ends[1], log_ends[1]}) close(fd);
  if (pid < 0) {
    for (const int fd : {pipe_ends[0], log_ends[0]}) close(fd);
    return FromErrno(fork_error, fmt::format("cannot start {}", arguments[0]));
  }
  return ChildProcess(pid, pipe_ends[0], log_ends[0],
                      std::filesystem::path(arguments[0]).filename().string());
}

ChildProcess::ChildProcess(pid_t pid, int output, int log, std::string name)
    : pid_(pid), output_(output), log_(log), name_(std::move(name)) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      log_(std::exchange(other.log_, -1)),
      name_(std::move(other.name_)),
      line_(std::move(other.line_)),
      log_text_(std::move(other.log_text_)),
      ended_(std::move(other.ended_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(log_, other.log_);
  std::swap(name_, other.name_);
  std::swap(line_, other.line_);
  std::swap(log_text_, other.log_text_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !Ended()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (log_ >= 0) {
    PassOnLog();
    if (!log_text_.empty()) LogChildLine(log_text_);
    close(log_);
  }
  if (output_ >= 0) close(output_);
}

void ChildProcess::PassOnLog() {
  std::array<char, 4096> part{};
  // So much at a time: what a child that writes without end has to say must not hold us up.
  for (size_t taken = 0; taken < kMaxLogBytesAtOnce;) {
    const ssize_t n = read(log_, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    log_text_.append(part.data(), static_cast<size_t>(n));
    taken += static_cast<size_t>(n);
    PassOnLines();
  }
}

void ChildProcess::PassOnLines() {
  size_t begin = 0;
  for (size_t end = 0; (end = log_text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    LogChildLine(std::string_view(log_text_).substr(begin, end - begin));
  }
  log_text_.erase(0, begin);
  if (log_text_.size() < kMaxLogLineBytes) return;
  LogChildLine(log_text_);
  log_text_.clear();
}

std::optional<std::string> ChildProcess::Ended() {
  PassOnLog();
  if (ended_) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) ended_ = EndInWords(status);
  return ended_;
}

absl::StatusOr<std::optional<std::string>> ChildProcess::PollReadiness() {
  PassOnLog();
  std::array<char, 256> part{};
  while (line_.size() < kMaxReadinessBytes) {
    const ssize_t n = read(output_, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n <= 0) break;
    line_.append(part.data(), static_cast<size_t>(n));
    if (const size_t newline = line_.find('\n'); newline != std::string::npos) {
      return line_.substr(0, newline);
    }
  }
  Stop(Milliseconds(100));
  const std::string message =
      fmt::format("{} ended before it was ready ({}); see its message above", name_,
                  ended_.value_or("unknown"));
  // Our programs exit with 2 when they were told something wrong, such as a profile's name.
  if (ended_ == EndInWords(kUsageExitStatus)) return absl::InvalidArgumentError(message);
  return absl::UnavailableError(message);
}

void ChildProcess::Stop(Milliseconds limit) {
  if (pid_ <= 0 || Ended()) return;
  kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!Ended() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  if (Ended()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  if (waitpid(pid_, &status, 0) == pid_) ended_ = EndInWords(status);
  PassOnLog();
}

}  // namespace fetchbench::coordinator
