#include "agent/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "common/grpc_options.h"

namespace fetchbench::agent {
namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::Status CannotListen(int error, const ListenAddress& address) {
  return absl::UnavailableError(
      fmt::format("cannot listen on {}: {}", address.Text(), std::strerror(error)));
}

absl::StatusOr<Addresses> Resolve(const ListenAddress& address) {
  std::string host = address.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    return absl::InvalidArgumentError(
        fmt::format("cannot listen on {}: {}", address.Text(), gai_strerror(failed)));
  }
  return Addresses(found, &freeaddrinfo);
}

bool IsWildcard(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof(v4));
    return v4.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof(v6));
  return IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

void SetOption(const Fd& socket, int level, int name, int value) {
  // Each of them is an improvement, none a condition.
  std::ignore = setsockopt(socket.get(), level, name, &value, sizeof(value));
}

// An invalid one, and errno: it did not succeed.
Fd Listen(int family, const sockaddr* address, socklen_t size) {
  Fd listener(socket(family, kSocketFlags, 0));
  if (!listener.valid()) return listener;
  if (family != AF_UNIX) {
    SetOption(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    SetOption(listener, IPPROTO_TCP, TCP_NODELAY, 1);
    SetOption(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kKeepaliveTimeout.count()));
  }
  if (family == AF_INET6)
    SetOption(listener, IPPROTO_IPV6, IPV6_V6ONLY, IsWildcard(*address) ? 0 : 1);
  if (bind(listener.get(), address, size) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    const int error = errno;
    listener = Fd();
    errno = error;
  }
  return listener;
}

Fd ListenOnAll(in_port_t port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = port;
  return Listen(AF_INET6, reinterpret_cast<const sockaddr*>(&any), sizeof(any));
}

// sin_port and sin6_port are at one place.
in_port_t& PortOf(sockaddr& address) { return reinterpret_cast<sockaddr_in&>(address).sin_port; }

int BoundPort(const Fd& listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto& address = reinterpret_cast<sockaddr&>(bound);
  if (getsockname(listener.get(), &address, &size) != 0) return 0;
  return ntohs(PortOf(address));
}

absl::StatusOr<std::vector<Fd>> OpenUnix(const ListenAddress& address) {
  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  std::memcpy(path.sun_path, address.socket_path.data(), address.socket_path.size());
  unlink(address.socket_path.c_str());
  std::vector<Fd> listeners;
  listeners.push_back(Listen(AF_UNIX, reinterpret_cast<const sockaddr*>(&path), sizeof(path)));
  if (!listeners.back().valid()) return CannotListen(errno, address);
  return listeners;
}

}  // namespace

absl::StatusOr<std::vector<Fd>> OpenListeners(ListenAddress& address) {
  if (!address.socket_path.empty()) return OpenUnix(address);
  const absl::StatusOr<Addresses> found = Resolve(address);
  if (!found.ok()) return found.status();
  std::vector<Fd> listeners;
  int error = 0;
  for (addrinfo* entry = found->get(); entry != nullptr; entry = entry->ai_next) {
    PortOf(*entry->ai_addr) = htons(static_cast<in_port_t>(address.port));
    Fd listener;
    if (IsWildcard(*entry->ai_addr)) listener = ListenOnAll(PortOf(*entry->ai_addr));
    // A host without IPv6.
    if (!listener.valid()) listener = Listen(entry->ai_family, entry->ai_addr, entry->ai_addrlen);
    if (!listener.valid()) {
      error = errno;
      continue;
    }
    if (address.port == 0) address.port = BoundPort(listener);
    listeners.push_back(std::move(listener));
  }
  // As where "localhost" is also ::1 and there is no IPv6: one is enough.
  if (listeners.empty()) return CannotListen(error, address);
  return listeners;
}

}  // namespace fetchbench::agent
