#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "origin/exchange.h"

namespace fetchbench::origin {

// What was asked of each host under conformance.test, for tests that check what a client really
// sent. Bounded: the last requests and closes of each host, and so many hosts. The origin's thread
// only.
class HostLog {
 public:
  explicit HostLog(const Clock& clock) : clock_(clock) {}

  // Hosts outside conformance.test are ignored by all three.
  void Query(std::string_view host);
  void Connected(std::string_view host);
  void Requested(std::string_view host, const Request& request);
  void Closed(std::string_view host);

  void Clear() { hosts_.clear(); }

  // The JSON object of GET /v1/hosts/NAME; zeros for a host never met.
  std::string ToJson(std::string_view host) const;

 private:
  static constexpr size_t kMaxHosts = 1'024;
  static constexpr size_t kKept = 16;

  struct Entry {
    int64_t at_us = 0;
    Request request;
  };
  struct Host {
    uint64_t dns_queries = 0;
    uint64_t connections = 0;
    std::deque<Entry> requests;
    uint64_t closes = 0;
    std::deque<int64_t> closed_at_us;
  };

  Host* Find(std::string_view host);

  const Clock& clock_;
  absl::flat_hash_map<std::string, Host> hosts_;
};

}  // namespace fetchbench::origin
