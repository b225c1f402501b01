#include "tests/integration/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace fetchbench::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void CloseFd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// False: nothing will come any more.
bool ReadSome(int& fd, std::string& to) {
  std::array<char, 65536> part{};
  const ssize_t n = read(fd, part.data(), part.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) {
    CloseFd(fd);
    return false;
  }
  to.append(part.data(), static_cast<size_t>(n));
  return true;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0 ||
      pipe2(err.data(), O_CLOEXEC) != 0) {
    std::abort();
  }
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  signal(SIGPIPE, SIG_IGN);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const auto& [name, value] : environment) {
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(in[0]);
  close(out[1]);
  close(err[1]);
  input_ = in[1];
  output_fd_ = out[0];
  error_fd_ = err[0];
}

Program::~Program() {
  if (!Ended()) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CloseFd(input_);
  CloseFd(output_fd_);
  CloseFd(error_fd_);
}

void Program::Write(std::string_view text) {
  fcntl(input_, F_SETFL, O_NONBLOCK);
  while (!text.empty()) {
    const ssize_t n = write(input_, text.data(), text.size());
    if (n < 0 && errno == EAGAIN) {
      Gather(milliseconds(5));
      continue;
    }
    if (n < 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void Program::CloseInput() { CloseFd(input_); }
void Program::CloseOutput() { CloseFd(output_fd_); }
void Program::Signal(int number) const { kill(pid_, number); }

// Reads what is there, for `limit` at most. False: both outputs are closed.
bool Program::Gather(milliseconds limit) {
  std::array<pollfd, 2> waiting{pollfd{output_fd_, POLLIN, 0}, pollfd{error_fd_, POLLIN, 0}};
  poll(waiting.data(), waiting.size(), static_cast<int>(limit.count()));
  if (waiting[0].revents != 0) ReadSome(output_fd_, output_);
  if (waiting[1].revents != 0) ReadSome(error_fd_, error_);
  return output_fd_ >= 0 || error_fd_ >= 0;
}

bool Program::Ended() {
  if (exit_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  exit_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

bool Program::WaitFor(const std::string& where, std::string_view text, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  while (where.find(text) == std::string::npos) {
    if (steady_clock::now() > deadline) return false;
    if (!Gather(milliseconds(20))) return where.find(text) != std::string::npos;
  }
  return true;
}

bool Program::WaitForOutput(std::string_view text, milliseconds patience) {
  return WaitFor(output_, text, patience);
}
bool Program::WaitForError(std::string_view text, milliseconds patience) {
  return WaitFor(error_, text, patience);
}

std::optional<int> Program::WaitForExit(milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  while (!Ended()) {
    if (steady_clock::now() > deadline) return std::nullopt;
    Gather(milliseconds(20));
  }
  while (Gather(milliseconds(0)) && (output_fd_ >= 0 || error_fd_ >= 0)) {
    // What is still in the pipes; a child left behind may hold them open for ever.
    const size_t before = output_.size() + error_.size();
    Gather(milliseconds(50));
    if (before == output_.size() + error_.size()) break;
  }
  return exit_;
}

}  // namespace fetchbench::test
