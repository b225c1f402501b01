#pragma once

#include <boost/asio/ip/address.hpp>
#include <set>
#include <vector>

namespace fetchbench::native {

// Whether `address` is one of the public Internet: not private, loopback, link-local, cloud
// metadata, carrier-grade NAT, unique local, multicast, documentation or otherwise reserved. IPv6
// addresses that carry an IPv4 address (mapped, NAT64, 6to4, ISATAP) are judged by both,
// Teredo never is. fetchbench-guard refuses the same IPv4 ranges to containers.
bool IsPublicAddress(const boost::asio::ip::address& address);

// What may be reached on the real web: public addresses, but not those of this host, whose services
// may trust whoever comes from it. Immutable, so any thread.
class PublicOnly {
 public:
  // `own`: the addresses of this host (host_addresses.h); IPv6 scopes do not matter.
  explicit PublicOnly(const std::vector<boost::asio::ip::address>& own);

  // Addresses that carry one of the host's IPv4 addresses are not allowed either.
  bool Allows(const boost::asio::ip::address& address) const;

 private:
  std::set<boost::asio::ip::address> own_;
};

}  // namespace fetchbench::native
