#include "tests/conformance/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstring>

extern char** environ;  // NOLINT: POSIX's name

namespace fetchbench::conformance {
namespace {

namespace net = boost::asio;
using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  int input = -1;   // its standard input, ours to write; not blocking
  int output = -1;  // its standard output, ours to read; not blocking
};

absl::StatusOr<Child> Spawn(const std::vector<std::string>& command) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return absl::InternalError("no pipe");
  if (pipe2(out.data(), O_CLOEXEC) != 0) return absl::InternalError("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Child child{.input = in[1], .output = out[0]};
  const int error =
      posix_spawn(&child.pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (error != 0) {
    close(child.input);
    close(child.output);
    return absl::InternalError(fmt::format("{}: {}", command[0], strerror(error)));
  }
  fcntl(child.input, F_SETFL, O_NONBLOCK);
  fcntl(child.output, F_SETFL, O_NONBLOCK);
  return child;
}

int MsUntil(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Appends what can be read within the time. False: the end, or time is over.
bool ReadSome(int fd, std::string& text, Clock::time_point end) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, MsUntil(end)) <= 0) return false;
  std::array<char, 65536> buffer{};
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
  return n > 0;
}

// Feeds and drains the child until its output ends. False: time is over.
bool Pump(Child& child, std::string_view input, std::string& output, Clock::time_point end) {
  for (;;) {
    if (input.empty() && child.input >= 0) {
      close(child.input);
      child.input = -1;
    }
    std::array<pollfd, 2> wait{pollfd{child.output, POLLIN, 0}, pollfd{child.input, POLLOUT, 0}};
    if (poll(wait.data(), wait.size(), MsUntil(end)) <= 0) return false;
    if (wait[0].revents != 0 && !ReadSome(child.output, output, end)) return true;
    if (wait[1].revents != 0) {
      const ssize_t n = write(child.input, input.data(), input.size());
      input.remove_prefix(n > 0 ? static_cast<size_t>(n) : input.size());
    }
  }
}

}  // namespace

absl::StatusOr<std::string> RunProgram(const std::vector<std::string>& command,
                                       std::string_view input, double timeout_s) {
  signal(SIGPIPE, SIG_IGN);
  auto child = Spawn(command);
  if (!child.ok()) return child.status();
  std::string output;
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<int>(timeout_s * 1000));
  const bool in_time = Pump(*child, input, output, end);
  if (!in_time) kill(child->pid, SIGKILL);
  int status = 0;
  waitpid(child->pid, &status, 0);
  if (child->input >= 0) close(child->input);
  close(child->output);
  if (!in_time) {
    return absl::InternalError(fmt::format("{} still ran after {} s", command[0], timeout_s));
  }
  if (status != 0) {
    return absl::InternalError(
        fmt::format("{}: {} {}", command[0], WIFSIGNALED(status) ? "signal" : "exit code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
  }
  return output;
}

absl::StatusOr<OriginProcess> OriginProcess::Start(const std::vector<std::string>& command) {
  auto child = Spawn(command);
  if (!child.ok()) return child.status();
  close(child->input);
  OriginProcess origin(child->pid, child->output);
  std::string line;
  const auto end = Clock::now() + std::chrono::seconds(30);
  while (line.find('\n') == std::string::npos && ReadSome(child->output, line, end)) {
  }
  boost::system::error_code error;
  const boost::json::value ready = boost::json::parse(line.substr(0, line.find('\n')), error);
  const auto* object = ready.if_object();
  const auto* control = object == nullptr ? nullptr : object->if_contains("control");
  const std::string url =
      control == nullptr || !control->is_string() ? "" : std::string(control->get_string());
  const size_t colon = url.rfind(':');
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme) || colon < kScheme.size()) {
    return absl::InternalError(fmt::format("the origin's readiness line is '{}'", line));
  }
  origin.host_ = url.substr(kScheme.size(), colon - kScheme.size());
  origin.port_ = url.substr(colon + 1);
  return origin;
}

OriginProcess::OriginProcess(OriginProcess&& other) noexcept
    : pid_(other.pid_),
      output_(other.output_),
      host_(std::move(other.host_)),
      port_(std::move(other.port_)) {
  other.pid_ = -1;
  other.output_ = -1;
}

OriginProcess::~OriginProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

absl::StatusOr<std::string> OriginProcess::Get(const std::string& path) const {
  net::io_context io;
  net::ip::tcp::socket socket(io);
  boost::system::error_code ec;
  net::ip::tcp::resolver resolver(io);
  const auto endpoints = resolver.resolve(host_, port_, ec);
  if (!ec) net::connect(socket, endpoints, ec);
  if (ec) return absl::UnavailableError(fmt::format("control endpoint: {}", ec.message()));
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, host_);
  net::write(socket, net::buffer(request), ec);
  std::string answer;
  net::read(socket, net::dynamic_buffer(answer), ec);  // ends with the connection
  const size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200") || body == std::string::npos) {
    return absl::InternalError(
        fmt::format("GET {}: '{}'", path, answer.substr(0, answer.find('\r'))));
  }
  return answer.substr(body + 4);
}

}  // namespace fetchbench::conformance
