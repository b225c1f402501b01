#include "agent/native/host_addresses.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace fetchbench::native {
namespace {

namespace ip = boost::asio::ip;

std::optional<ip::address> AddressOf(const sockaddr& socket_address) {
  if (socket_address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &socket_address, sizeof(v4));
    return ip::address_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (socket_address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &socket_address, sizeof(v6));
    ip::address_v6::bytes_type bytes{};
    std::copy_n(std::begin(v6.sin6_addr.s6_addr), bytes.size(), bytes.begin());
    return ip::address_v6(bytes);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<ip::address>> HostAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return absl::InternalError(std::string("cannot list this host's own addresses: ") +
                               std::strerror(errno));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  std::vector<ip::address> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    if (const auto address = AddressOf(*entry->ifa_addr)) addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace fetchbench::native
