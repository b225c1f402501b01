#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::native {

struct HostPort {
  std::string host;
  uint16_t port = 0;

  bool operator==(const HostPort&) const = default;
};

// curl's --connect-to rules, HOST1:PORT1:HOST2:PORT2: who asks for HOST1:PORT1 is connected to
// HOST2:PORT2. An empty HOST1 or PORT1 matches all, an empty HOST2 or PORT2 leaves that part as it
// is, IPv6 addresses stand in brackets. The first rule that matches wins. Immutable once filled.
class ConnectTo {
 public:
  absl::Status Add(std::string_view rule);

  HostPort Apply(std::string_view host, uint16_t port) const;

 private:
  struct Rule {
    std::string from_host;
    uint16_t from_port = 0;  // 0: any
    std::string to_host;
    uint16_t to_port = 0;  // 0: as it is
  };

  std::vector<Rule> rules_;
};

// "192.0.2.1", "192.0.2.1:5353", "[::1]:5353" or "::1": an address, and a port or `default_port`.
absl::StatusOr<HostPort> ParseAddressPort(std::string_view text, uint16_t default_port);

}  // namespace fetchbench::native
