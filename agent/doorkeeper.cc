#include "agent/doorkeeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "common/log.h"

namespace fetchbench::agent {
namespace {

// For descriptors to become free.
constexpr int kPauseMs = 100;
// Before it looks whether it is to end.
constexpr int kAtOnce = 256;
// What a run needs beside connections: pipes of the target, the Engine, files.
constexpr int kReserve = 64;
constexpr int kUsualLimit = 1'024;
// Between two lines of the log about what can be a flood.
constexpr std::chrono::minutes kQuiet{1};

// The kernel gives out the lowest number that is free, so a high one means that many are taken.
int HighestDescriptor() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsualLimit;
  const auto usable = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  return usable - std::min(kReserve, usable / 4);
}

// Of one connection alone, which is gone: accept(2) has a list of them.
bool ConcernsOne(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM ||
         error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET ||
         error == EHOSTUNREACH || error == EOPNOTSUPP || error == ENETUNREACH;
}

}  // namespace

Doorkeeper::Doorkeeper(std::vector<Fd> listeners,
                       std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server,
                       ConnectionBook& book)
    : listeners_(std::move(listeners)),
      server_(std::move(server)),
      book_(book),
      highest_(HighestDescriptor()),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "agent-door");
}

Doorkeeper::~Doorkeeper() {
  stop_.Set();
  thread_.join();
  book_.ForgetAll();
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
    for (const int connection : book_.Descriptors()) polled.push_back({connection, 0, 0});
    if (poll(polled.data(), polled.size(), room ? -1 : kPauseMs) < 0) continue;
    if (polled.front().revents != 0) return;
    std::vector<bool> ended;
    for (size_t i = 1 + listeners_.size(); i < polled.size(); ++i) {
      ended.push_back(polled[i].revents != 0);
    }
    book_.Forget(ended);
    room = true;
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (polled[i + 1].revents != 0 && !AcceptFrom(listeners_[i])) room = false;
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
      Complain(fmt::format("connections wait until others end: {}", std::strerror(errno)));
      return false;
    }
  }
  return true;
}

void Doorkeeper::Admit(Fd connection, const Fd& listener) {
  if (!HasRoomFor(Fd(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)))) return;
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener.get();
  parameters.fd = connection.Release();
  server_->HandleNewConnection(&parameters);
}

bool Doorkeeper::HasRoomFor(Fd own) {
  if (!own.valid() || own.get() > highest_) {
    // Descriptors are free a little later, when gRPC has heard of it: for the next one.
    book_.MakeRoom();
    book_.CountRefusal();
    Complain(fmt::format("a connection was refused: this process may open no more files ({})",
                         book_.Crowd()));
    return false;
  }
  switch (book_.Take(std::move(own))) {
    case ConnectionBook::Taken::kYes:
      return true;
    case ConnectionBook::Taken::kForAnother:
      Complain(fmt::format("too many connections: idle ones are ended for those that come ({})",
                           book_.Crowd()));
      return true;
    case ConnectionBook::Taken::kFull:
      book_.CountRefusal();
      Complain(
          fmt::format("too many connections: one was refused, and others will be, because "
                      "none is idle ({})",
                      book_.Crowd()));
      return false;
    case ConnectionBook::Taken::kClosed:
      return false;
  }
  return false;
}

// The metrics count all of it.
void Doorkeeper::Complain(const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (now < silent_until_) return;
  silent_until_ = now + kQuiet;
  LogEvent(spdlog::level::warn, "crowded", {}, what);
}

}  // namespace fetchbench::agent
