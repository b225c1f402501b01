#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace fetchbench::testing {
namespace {

constexpr int kPatienceMs = 10'000;
constexpr int kPollMs = 20;

}  // namespace

ScriptedConnection::ScriptedConnection(int fd, std::shared_ptr<SSL_CTX> tls)
    : fd_(fd), context_(std::move(tls)) {
  const timeval patience{kPatienceMs / 1000, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

ScriptedConnection::~ScriptedConnection() {
  SSL_free(ssl_);
  if (fd_ >= 0) close(fd_);
}

bool ScriptedConnection::Handshake() {
  ssl_ = SSL_new(context_.get());
  SSL_set_fd(ssl_, fd_);
  return SSL_accept(ssl_) == 1;
}

std::string ScriptedConnection::ReadRequest() {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    char c = 0;
    const bool ok = ssl_ != nullptr ? SSL_read(ssl_, &c, 1) == 1 : recv(fd_, &c, 1, 0) == 1;
    if (!ok) break;
    request += c;
  }
  return request;
}

void ScriptedConnection::Send(std::string_view bytes) {
  if (ssl_ == nullptr) {
    SendRaw(bytes);
  } else if (!bytes.empty()) {
    SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  }
}

bool ScriptedConnection::SendRaw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void ScriptedConnection::CloseNotify() {
  if (ssl_ != nullptr) SSL_shutdown(ssl_);
}

void ScriptedConnection::Reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(std::exchange(fd_, -1));
}

void ScriptedConnection::WaitForClose() {
  std::array<char, 4096> sink;  // NOLINT(*-member-init)
  while (recv(fd_, sink.data(), sink.size(), 0) > 0) {
  }
}

ScriptedServer::ScriptedServer(Script script, std::shared_ptr<SSL_CTX> tls,
                               const std::string& address)
    : script_(std::move(script)),
      tls_(std::move(tls)),
      listener_(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);
  const bool v6 = address.find(':') != std::string::npos;
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  inet_pton(AF_INET6, (v6 ? address : "::ffff:" + address).c_str(), &name.sin6_addr);
  socklen_t size = sizeof(name);
  const int off = 0;
  if (setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(name.sin6_port);
  accepter_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  stopping_ = true;
  accepter_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
}

void ScriptedServer::Accept() {
  while (!stopping_) {
    pollfd polled{listener_, POLLIN, 0};
    if (poll(&polled, 1, kPollMs) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, fd] {
      ScriptedConnection connection(fd, tls_);
      script_(connection);
    });
  }
}

ScriptedServer::Script Answer(std::string bytes) {
  return [bytes = std::move(bytes)](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Send(bytes);
  };
}

}  // namespace fetchbench::testing
