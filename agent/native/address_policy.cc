#include "agent/native/address_policy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace fetchbench::native {
namespace {

namespace ip = boost::asio::ip;

struct Ipv4Range {
  uint32_t base;
  int bits;
};

constexpr uint32_t V4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// The IANA IPv4 special-purpose address registry, and multicast.
constexpr std::array kReservedV4 = {
    Ipv4Range{V4(0, 0, 0, 0), 8},      // this network
    Ipv4Range{V4(10, 0, 0, 0), 8},     // private
    Ipv4Range{V4(100, 64, 0, 0), 10},  // carrier-grade NAT; 100.100.100.200 is a metadata service
    Ipv4Range{V4(127, 0, 0, 0), 8},    // loopback
    Ipv4Range{V4(168, 63, 129, 16), 32},  // a cloud's host agent and metadata
    Ipv4Range{V4(169, 254, 0, 0), 16},    // link-local; 169.254.169.254 is the metadata service
    Ipv4Range{V4(172, 16, 0, 0), 12},     // private
    Ipv4Range{V4(192, 0, 0, 0), 24},      // protocol assignments; 192.0.0.192 is a metadata service
    Ipv4Range{V4(192, 0, 2, 0), 24},      // documentation
    Ipv4Range{V4(192, 88, 99, 0), 24},    // 6to4 relay
    Ipv4Range{V4(192, 168, 0, 0), 16},    // private
    Ipv4Range{V4(198, 18, 0, 0), 15},     // benchmarks
    Ipv4Range{V4(198, 51, 100, 0), 24},   // documentation
    Ipv4Range{V4(203, 0, 113, 0), 24},    // documentation
    Ipv4Range{V4(224, 0, 0, 0), 4},       // multicast
    Ipv4Range{V4(240, 0, 0, 0), 4},       // reserved, and broadcast
};

bool IsPublicV4(uint32_t address) {
  return std::ranges::none_of(kReservedV4, [address](const Ipv4Range& range) {
    const uint32_t mask = range.bits == 0 ? 0 : ~uint32_t{0} << (32 - range.bits);
    return (address & mask) == range.base;
  });
}

using Bytes = ip::address_v6::bytes_type;

struct Ipv6Range {
  Bytes base;
  int bits;
};

constexpr Bytes V6(std::array<uint16_t, 8> groups) {
  Bytes bytes{};
  for (size_t i = 0; i < groups.size(); ++i) {
    bytes[2 * i] = static_cast<unsigned char>(groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<unsigned char>(groups[i] & 0xff);
  }
  return bytes;
}

constexpr Ipv6Range kGlobalUnicast{V6({0x2000}), 3};
constexpr Ipv6Range kNat64{V6({0x64, 0xff9b}), 96};
constexpr Ipv6Range kMapped{V6({0, 0, 0, 0, 0, 0xffff}), 96};
constexpr Ipv6Range k6to4{V6({0x2002}), 16};

// Parts of 2000::/3 that are not for the public, by the IANA IPv6 special-purpose address registry.
// Everything outside 2000::/3 (loopback, link-local, unique local, site-local, multicast, discard,
// local NAT64, segment routing) is refused without a table.
constexpr std::array kReservedV6 = {
    Ipv6Range{V6({0x2001, 0}), 23},      // protocol assignments, Teredo and ORCHID among them
    Ipv6Range{V6({0x2001, 0xdb8}), 32},  // documentation
    Ipv6Range{V6({0x3fff}), 20},         // documentation
};

bool Contains(const Ipv6Range& range, const Bytes& address) {
  for (int bit = 0; bit < range.bits; ++bit) {
    const auto i = static_cast<size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if ((address[i] & mask) != (range.base[i] & mask)) return false;
  }
  return true;
}

uint32_t EmbeddedV4(const Bytes& bytes, size_t at) {
  return V4(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

// RFC 5214: an interface identifier that carries the IPv4 address of a tunnel's end.
bool IsIsatap(const Bytes& bytes) {
  return (bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
}

// What a mapped, NAT64 or 6to4 address stands for.
std::optional<uint32_t> TranslatedV4(const Bytes& bytes) {
  if (Contains(kMapped, bytes) || Contains(kNat64, bytes)) return EmbeddedV4(bytes, 12);
  if (Contains(k6to4, bytes)) return EmbeddedV4(bytes, 2);
  return std::nullopt;
}

bool IsPublicV6(const Bytes& bytes) {
  if (const auto v4 = TranslatedV4(bytes)) return IsPublicV4(*v4);
  if (!Contains(kGlobalUnicast, bytes)) return false;
  if (IsIsatap(bytes) && !IsPublicV4(EmbeddedV4(bytes, 12))) return false;
  return std::ranges::none_of(kReservedV6,
                              [&bytes](const Ipv6Range& range) { return Contains(range, bytes); });
}

// Without a scope: it is the same address on whichever interface.
ip::address Plain(const ip::address& address) {
  if (address.is_v4()) return address;
  return ip::address_v6(address.to_v6().to_bytes());
}

// The IPv4 address at which `address` would arrive, if it carries one.
std::optional<ip::address> CarriedV4(const ip::address& address) {
  if (address.is_v4()) return std::nullopt;
  const Bytes bytes = address.to_v6().to_bytes();
  if (const auto v4 = TranslatedV4(bytes)) return ip::address_v4(*v4);
  if (IsIsatap(bytes)) return ip::address_v4(EmbeddedV4(bytes, 12));
  return std::nullopt;
}

}  // namespace

bool IsPublicAddress(const ip::address& address) {
  return address.is_v4() ? IsPublicV4(address.to_v4().to_uint())
                         : IsPublicV6(address.to_v6().to_bytes());
}

PublicOnly::PublicOnly(const std::vector<ip::address>& own) {
  for (const ip::address& address : own) own_.insert(Plain(address));
}

bool PublicOnly::Allows(const ip::address& address) const {
  if (!IsPublicAddress(address) || own_.contains(Plain(address))) return false;
  const auto carried = CarriedV4(address);
  return !carried || !own_.contains(*carried);
}

}  // namespace fetchbench::native
