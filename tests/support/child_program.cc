#include "tests/support/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace fetchbench::testing {
namespace {

using Clock = std::chrono::steady_clock;

void CloseFd(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

// Appends what can be read; false at the end.
bool Drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;  // NOLINT(*-member-init)
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n <= 0) return false;
  text.append(buffer.data(), static_cast<size_t>(n));
  return true;
}

int MillisecondsUntil(Clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) {
    std::string entry = name;
    entry += '=';
    entry += value;
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

ChildProgram::ChildProgram(const std::string& path, const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment,
                           size_t open_files) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0 ||
      pipe2(err.data(), O_CLOEXEC) != 0) {
    std::abort();
  }
  // Everything is made before the fork: other threads of a test may hold the allocator's locks.
  std::vector<std::string> argument_texts = {path};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = Pointers(argument_texts);
  const std::vector<std::string> environment_texts = Environment(environment);
  const std::vector<char*> envp = Pointers(environment_texts);
  const rlimit limit{open_files, open_files};
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    if (open_files != 0) setrlimit(RLIMIT_NOFILE, &limit);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  in_ = in[1];
  out_ = out[0];
  err_ = err[0];
}

ChildProgram::~ChildProgram() {
  CloseFd(in_);
  CloseFd(out_);
  CloseFd(err_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProgram::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(in_, bytes.data(), bytes.size());
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void ChildProgram::CloseInput() { CloseFd(in_); }
void ChildProgram::CloseOutput() { CloseFd(out_); }
void ChildProgram::Signal(int signal) const { kill(pid_, signal); }

std::string ChildProgram::ReadLines(size_t lines, std::chrono::seconds patience) {
  const auto end = Clock::now() + patience;
  while (static_cast<size_t>(std::ranges::count(out_text_, '\n')) < lines) {
    pollfd polled{out_, POLLIN, 0};
    if (poll(&polled, 1, MillisecondsUntil(end)) <= 0) break;
    if (!Drain(out_, out_text_)) break;
  }
  return out_text_;
}

ChildResult ChildProgram::Wait(std::chrono::seconds patience) {
  CloseFd(in_);
  const auto end = Clock::now() + patience;
  bool out_open = out_ >= 0;
  bool err_open = true;
  while (out_open || err_open) {
    std::array<pollfd, 2> polled = {pollfd{out_open ? out_ : -1, POLLIN, 0},
                                    pollfd{err_open ? err_ : -1, POLLIN, 0}};
    if (poll(polled.data(), polled.size(), MillisecondsUntil(end)) <= 0) {
      kill(pid_, SIGKILL);
      break;
    }
    if (polled[0].revents != 0) out_open = Drain(out_, out_text_);
    if (polled[1].revents != 0) err_open = Drain(err_, err_text_);
  }
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  ChildResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = out_text_;
  result.err = err_text_;
  return result;
}

}  // namespace fetchbench::testing
