#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace fetchbench::agent {

// Where a TCP connection comes from. An IPv4 address is kept as IPv6 maps it (RFC 4291, 2.5.5.2),
// so that one client is the same whichever kind of socket took its connection.
struct PeerAddress {
  std::array<uint8_t, 16> ip{};
  uint16_t port = 0;

  bool operator==(const PeerAddress&) const = default;
  bool operator<(const PeerAddress& other) const {
    return std::tie(ip, port) < std::tie(other.ip, other.port);
  }

  // Whom it belongs to, as far as an address tells: all of IPv4, and the first 64 bits of IPv6, of
  // which whoever has one has all. Without a port.
  PeerAddress Network() const;
  std::string IpText() const;
  std::string NetworkText() const;  // "10.0.0.5", "2001:db8::/64"
};

// The other end of a connected socket; nullopt: it is none of TCP, or not connected any more.
std::optional<PeerAddress> PeerOf(int socket);

// As gRPC names a peer: "ipv4:10.0.0.5:40000", "ipv6:%5B2001:db8::5%5D:40000". nullopt: another
// kind. Pure.
std::optional<PeerAddress> ParseGrpcPeer(std::string_view peer);

}  // namespace fetchbench::agent
