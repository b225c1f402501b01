#pragma once

#include <boost/asio/ip/address.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace fetchbench::native {

// Names of /etc/hosts, read once. Immutable after loading, so workers share it.
class HostsFile {
 public:
  // Lines that are malformed are skipped, as every resolver does; a file that cannot be read is an
  // empty one.
  static HostsFile Load(const std::string& path);
  static HostsFile Parse(std::string_view text);

  // Addresses of `host` (lower case), or null.
  const std::vector<boost::asio::ip::address>* Find(const std::string& host) const;

 private:
  absl::flat_hash_map<std::string, std::vector<boost::asio::ip::address>> names_;
};

// RFC 6761 section 6.3: "localhost" and what ends in ".localhost" is never asked of DNS.
bool IsLocalhost(std::string_view host);
std::vector<boost::asio::ip::address> LocalhostAddresses();

}  // namespace fetchbench::native
