#include "agent/doorkeeper.h"

#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

// The kernel gives out the lowest number that is free, so a high one means that many are taken.
int HighestDescriptor() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxConnections;
  const auto usable = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 2 * kMaxConnections));
  return std::min(kMaxConnections, usable - std::min(kReserve, usable / 4));
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
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "agent-door");
}

Doorkeeper::~Doorkeeper() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Doorkeeper::Run() {
  std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
  for (const Fd& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
  bool room = true;
  while (true) {
    // Without room for more it waits for the end alone.
    const nfds_t watched = room ? polled.size() : 1;
    if (poll(polled.data(), watched, room ? -1 : kPauseMs) < 0) continue;
    if (polled.front().revents != 0) return;
    const bool looked = room;
    room = true;
    for (size_t i = 1; looked && i < polled.size(); ++i) {
      if (polled[i].revents != 0 && !AcceptFrom(listeners_[i - 1])) room = false;
    }
  }
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
  if (connection.get() > highest_) {
    Complain("too many are open");
    return;
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
