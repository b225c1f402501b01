#pragma once

#include <boost/asio/ip/address.hpp>

namespace fetchbench::native {

// Whether `address` is one of the public Internet: not private, loopback, link-local, cloud
// metadata, carrier-grade NAT, unique local, multicast, documentation or otherwise reserved. IPv6
// addresses that carry an IPv4 address (mapped, NAT64, 6to4, ISATAP) are judged by both,
// Teredo never is. fetchbench-guard refuses the same IPv4 ranges to containers.
bool IsPublicAddress(const boost::asio::ip::address& address);

}  // namespace fetchbench::native
