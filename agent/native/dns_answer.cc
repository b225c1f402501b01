#include "agent/native/dns_answer.h"

#include <ares.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <cstring>

#include "agent/native/errors.h"

namespace fetchbench::native {
namespace {

namespace ip = boost::asio::ip;

constexpr int kMaxAddresses = 64;  // of one family; further ones are not tried

}  // namespace

DnsAnswer ParseDnsAnswer(const unsigned char* data, int size, Family family) {
  DnsAnswer answer;
  int count = kMaxAddresses;
  int ttl = 0;
  int status = ARES_SUCCESS;
  if (family == Family::kIpv4) {
    std::array<ares_addrttl, kMaxAddresses> found{};
    status = ares_parse_a_reply(data, size, nullptr, found.data(), &count);
    if (status != ARES_SUCCESS) count = 0;
    for (int i = 0; i < count; ++i) {
      const ares_addrttl& entry = found[static_cast<size_t>(i)];
      ip::address_v4::bytes_type bytes{};
      std::memcpy(bytes.data(), &entry.ipaddr, bytes.size());
      answer.addresses.emplace_back(ip::address_v4(bytes));
      ttl = i == 0 ? entry.ttl : std::min(ttl, entry.ttl);
    }
  } else {
    std::array<ares_addr6ttl, kMaxAddresses> found{};
    status = ares_parse_aaaa_reply(data, size, nullptr, found.data(), &count);
    if (status != ARES_SUCCESS) count = 0;
    for (int i = 0; i < count; ++i) {
      const ares_addr6ttl& entry = found[static_cast<size_t>(i)];
      ip::address_v6::bytes_type bytes{};
      std::memcpy(bytes.data(), &entry.ip6addr, bytes.size());
      answer.addresses.emplace_back(ip::address_v6(bytes));
      ttl = i == 0 ? entry.ttl : std::min(ttl, entry.ttl);
    }
  }
  answer.ttl = std::chrono::seconds(std::max(ttl, 0));
  if (status != ARES_SUCCESS) {
    answer.error = MakeDnsError(status);
  } else if (answer.addresses.empty()) {
    answer.error = MakeDnsError(ARES_ENODATA);
  }
  return answer;
}

}  // namespace fetchbench::native
