#include "agent/process/fork_exec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "agent/process/cpu_list.h"
#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

constexpr int kCaFd = 3;  // kCaFilePath

// A memory file with the CA certificates, or an invalid Fd when there are none.
absl::StatusOr<Fd> MakeCaFile(const std::string& pem) {
  if (pem.empty()) return Fd();
  Fd file(memfd_create("fetchbench-ca", MFD_CLOEXEC));
  if (!file.valid()) return FromErrno(errno, "making a memory file for the CA certificates");
  size_t written = 0;
  while (written < pem.size()) {
    const ssize_t n = write(file.get(), pem.data() + written, pem.size() - written);
    if (n < 0) return FromErrno(errno, "writing the CA certificates");
    written += static_cast<size_t>(n);
  }
  return file;
}

// What the child needs between fork and exec, prepared before: only async-signal-safe calls are
// allowed there.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environ;
  bool pin = false;
  cpu_set_t cpus{};
  pid_t parent = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  int ca = -1;
  int report = -1;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void ReportAndExit(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(report, &error, sizeof error);
  _exit(127);
}

// Moves a descriptor out of the way of 0 to 3.
int MoveUp(int fd, int report) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  if (moved < 0) ReportAndExit(report);
  return moved;
}

void ResetSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  const int report = MoveUp(plan.report, plan.report);
  const int input = MoveUp(plan.input, report);
  const int output = MoveUp(plan.output, report);
  const int errors = MoveUp(plan.errors, report);
  const int ca = plan.ca < 0 ? -1 : MoveUp(plan.ca, report);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the daemon died before the line above
  if (plan.pin && sched_setaffinity(0, sizeof plan.cpus, &plan.cpus) != 0) ReportAndExit(report);
  // dup2 clears close-on-exec on the copies; everything else closes itself on exec.
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(errors, STDERR_FILENO) < 0) {
    ReportAndExit(report);
  }
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  if (ca >= 0 && dup2(ca, kCaFd) < 0) ReportAndExit(report);
  ResetSignals();
  execve(plan.argv[0], plan.argv.data(), plan.environ.data());
  ReportAndExit(report);
}

// The errno that the child reports before exec; 0 when exec closed the pipe.
int ReadReport(int fd) {
  int error = 0;
  ssize_t n = 0;
  do {
    n = read(fd, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

absl::StatusOr<Child> ForkExec(const TargetCommand& command, const std::vector<int>& cpus) {
  absl::StatusOr<StandardPipes> pipes = MakeStandardPipes();
  if (!pipes.ok()) return pipes.status();
  absl::StatusOr<Pipe> report = MakePipe();  // what became of exec
  if (!report.ok()) return report.status();
  absl::StatusOr<Fd> ca = MakeCaFile(command.ca_pem);
  if (!ca.ok()) return ca.status();

  ChildPlan plan;
  plan.argv = Pointers(command.argv);
  plan.environ = Pointers(command.environ);
  plan.pin = !cpus.empty();
  plan.cpus = CpuSet(cpus);
  plan.parent = getpid();
  plan.input = pipes->input.read.get();
  plan.output = pipes->output.write.get();
  plan.errors = pipes->errors.write.get();
  plan.ca = ca->get();
  plan.report = report->write.get();

  Child child;
  child.pid = fork();
  if (child.pid < 0) return FromErrno(errno, "starting a child process");
  if (child.pid == 0) RunChild(plan);
  report->write = Fd();
  if (const int error = ReadReport(report->read.get()); error != 0) {
    waitpid(child.pid, nullptr, 0);
    return FromErrno(error, fmt::format("starting {}", command.argv[0]));
  }
  child.pipes = pipes->TakeOurs();
  child.exit = Fd(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0U)));
  return child;
}

}  // namespace fetchbench::agent
