#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fetchbench::native {

enum class Family : uint8_t { kIpv4, kIpv6 };

// What one query for one family gave.
struct DnsAnswer {
  boost::system::error_code error;
  std::vector<boost::asio::ip::address> addresses;
  std::chrono::seconds ttl{0};
};

using DnsCallback = std::function<void(DnsAnswer)>;

// Asks for a host's addresses. Belongs to one worker's thread; a virtual interface so that the
// cache and Happy Eyeballs can be tested without a network.
class DnsResolver {
 public:
  virtual ~DnsResolver() = default;

  // Calls `done` once, on the worker's thread, perhaps before returning.
  virtual void Resolve(const std::string& host, Family family, DnsCallback done) = 0;
};

}  // namespace fetchbench::native
