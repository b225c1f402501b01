#include "agent/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace fetchbench::agent {
namespace {

constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool IsMapped(const PeerAddress& address) {
  return std::equal(kMapped.begin(), kMapped.end(), address.ip.begin());
}

PeerAddress FromIpv4(const in_addr& ip, uint16_t port) {
  PeerAddress address;
  std::copy(kMapped.begin(), kMapped.end(), address.ip.begin());
  std::memcpy(address.ip.data() + kMapped.size(), &ip, sizeof(ip));
  address.port = port;
  return address;
}

PeerAddress FromIpv6(const in6_addr& ip, uint16_t port) {
  PeerAddress address;
  std::memcpy(address.ip.data(), &ip, sizeof(ip));
  address.port = port;
  return address;
}

// gRPC writes what has a meaning in a URI by its number. What is not well formed stays as it is.
std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    uint8_t byte = 0;
    if (text.front() == '%' && text.size() >= 3 &&
        std::from_chars(text.data() + 1, text.data() + 3, byte, 16).ptr == text.data() + 3) {
      decoded += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      decoded += text.front();
      text.remove_prefix(1);
    }
  }
  return decoded;
}

}  // namespace

PeerAddress PeerAddress::Network() const {
  constexpr ptrdiff_t kPrefixBytes = 8;
  PeerAddress network = *this;
  network.port = 0;
  if (!IsMapped(*this)) std::fill(network.ip.begin() + kPrefixBytes, network.ip.end(), 0);
  return network;
}

std::string PeerAddress::IpText() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IsMapped(*this)) {
    inet_ntop(AF_INET, ip.data() + kMapped.size(), text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, ip.data(), text.data(), text.size());
  }
  return text.data();
}

std::string PeerAddress::NetworkText() const {
  return Network().IpText() + (IsMapped(*this) ? "" : "/64");
}

std::optional<PeerAddress> PeerOf(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return FromIpv4(v4.sin_addr, ntohs(v4.sin_port));
  }
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    return FromIpv6(v6.sin6_addr, ntohs(v6.sin6_port));
  }
  return std::nullopt;
}

std::optional<PeerAddress> ParseGrpcPeer(std::string_view peer) {
  const bool is_v4 = peer.starts_with("ipv4:");
  if (!is_v4 && !peer.starts_with("ipv6:")) return std::nullopt;
  const std::string text = PercentDecoded(peer.substr(5));
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, port);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  host = host.substr(0, host.find('%'));  // the scope of a link's own address
  in_addr v4{};
  in6_addr v6{};
  if (is_v4 && inet_pton(AF_INET, host.c_str(), &v4) == 1) return FromIpv4(v4, port);
  if (!is_v4 && inet_pton(AF_INET6, host.c_str(), &v6) == 1) return FromIpv6(v6, port);
  return std::nullopt;
}

}  // namespace fetchbench::agent
