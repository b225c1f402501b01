#include "agent/doorkeeper.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

namespace fetchbench::agent {
namespace {

// For descriptors to become free.
constexpr int kPauseMs = 100;
// Before it looks whether it is to end.
constexpr int kAtOnce = 256;
// What a run needs beside connections: pipes of the target, the Engine, files.
constexpr int kReserve = 64;
constexpr int kUsualLimit = 1'024;

// The kernel gives out the lowest number that is free, so a high one means that many are taken.
int HighestDescriptor() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsualLimit;
  const auto usable = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  return usable - std::min(kReserve, usable / 4);
}

// With a shutdown alone gRPC would still read, and keep, what has come already: megabytes of each.
void End(const Fd& connection) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  if (connect(connection.get(), &nobody, sizeof(nobody)) != 0) {
    shutdown(connection.get(), SHUT_RDWR);  // not of TCP
  }
}

// Of one connection alone, which is gone: accept(2) has a list of them.
bool ConcernsOne(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM ||
         error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET ||
         error == EHOSTUNREACH || error == EOPNOTSUPP || error == ENETUNREACH;
}

}  // namespace

Doorkeeper::Doorkeeper(std::vector<Fd> listeners,
                       std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server)
    : listeners_(std::move(listeners)),
      server_(std::move(server)),
      highest_(HighestDescriptor()),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "agent-door");
}

Doorkeeper::~Doorkeeper() {
  stop_.Set();
  thread_.join();
}

void Doorkeeper::Run() {
  std::vector<pollfd> polled;
  bool room = true;
  while (true) {
    polled.assign({{stop_.fd(), POLLIN, 0}});
    for (const Fd& listener : listeners_) {
      // Without room for more it waits for ends alone.
      polled.push_back({room ? listener.get() : -1, POLLIN, 0});
    }
    // Nothing is asked for: it hears of their end alone, when gRPC or we have ended them.
    for (const Fd& connection : connections_) polled.push_back({connection.get(), 0, 0});
    if (poll(polled.data(), polled.size(), room ? -1 : kPauseMs) < 0) continue;
    if (polled.front().revents != 0) return;
    const auto known = polled.begin() + 1 + static_cast<ptrdiff_t>(listeners_.size());
    ForgetEnded({known, polled.end()});
    room = true;
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (polled[i + 1].revents != 0 && !AcceptFrom(listeners_[i])) room = false;
    }
  }
}

// `polled`: all connections, in their order.
void Doorkeeper::ForgetEnded(std::span<const pollfd> polled) {
  const std::lock_guard lock(mutex_);
  size_t kept = 0;
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) std::swap(connections_[kept++], connections_[i]);
  }
  connections_.resize(kept);
}

size_t Doorkeeper::HangUp() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const Fd& connection : connections_) End(connection);
  return connections_.size();
}

size_t Doorkeeper::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

bool Doorkeeper::AcceptFrom(const Fd& listener) {
  for (int i = 0; i < kAtOnce; ++i) {
    Fd connection(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      Admit(std::move(connection), listener);
    } else if (errno == EAGAIN) {
      return true;
    } else if (!ConcernsOne(errno)) {
      Complain(std::strerror(errno));
      return false;
    }
  }
  return true;
}

void Doorkeeper::Admit(Fd connection, const Fd& listener) {
  Fd own(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!own.valid() || own.get() > highest_ || connections_.size() >= kMaxConnections) {
    Complain("too many are open");
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    connections_.push_back(std::move(own));
  }
  crowded_ = false;
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener.get();
  parameters.fd = connection.Release();
  server_->HandleNewConnection(&parameters);
}

// Once, until somebody is let in again: it can be a flood.
void Doorkeeper::Complain(const char* why) {
  if (!std::exchange(crowded_, true)) {
    spdlog::warn("connections are refused until others end: {}", why);
  }
}

}  // namespace fetchbench::agent
