#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/native/async_event.h"
#include "agent/native/dns.h"
#include "common/clock.h"

namespace fetchbench::native {

// One host's addresses, as far as they are known; shared by everybody who asked.
class Lookup {
 public:
  struct Part {
    bool done = false;
    DnsAnswer answer;
  };

  const Part& v4() const { return v4_; }
  const Part& v6() const { return v6_; }
  bool done() const { return v4_.done && v6_.done; }

  // Why there is no address; only when done() and both parts failed.
  boost::system::error_code error() const;

  // `event` is set whenever a part becomes known. Whoever waits leaves before its event dies.
  void AddWaiter(AsyncEvent& event) { waiters_.push_back(&event); }
  void RemoveWaiter(AsyncEvent& event) { std::erase(waiters_, &event); }

 private:
  friend class DnsCache;

  void Set(Part& part, DnsAnswer answer);

  Part v4_;
  Part v6_;
  SteadyTime expires_{};
  std::vector<AsyncEvent*> waiters_;
};

// One worker's DNS cache: one lookup per host at a time, answers kept for their TTL, failures not
// at all. Bounded by kMaxEntries, oldest out first.
class DnsCache {
 public:
  static constexpr size_t kMaxEntries = 4096;
  static constexpr std::chrono::seconds kMaxTtl{300};

  // `ask_ipv6`: whether AAAA is asked for at all.
  DnsCache(DnsResolver& resolver, const Clock& clock, bool ask_ipv6)
      : resolver_(resolver), clock_(clock), ask_ipv6_(ask_ipv6) {}

  std::shared_ptr<Lookup> Get(const std::string& host);

 private:
  void Insert(const std::string& host, std::shared_ptr<Lookup> lookup);
  void Ask(const std::string& host, const std::shared_ptr<Lookup>& lookup, Family family);

  DnsResolver& resolver_;
  const Clock& clock_;
  bool ask_ipv6_;
  absl::flat_hash_map<std::string, std::shared_ptr<Lookup>> entries_;
  std::deque<std::string> order_;  // as inserted; a host may be in it and no longer in entries_
};

}  // namespace fetchbench::native
