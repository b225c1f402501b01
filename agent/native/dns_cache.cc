#include "agent/native/dns_cache.h"

#include <ares.h>

#include <algorithm>
#include <utility>

#include "agent/native/errors.h"

namespace fetchbench::native {
namespace {

bool IsNoAddress(const boost::system::error_code& error) {
  return error == MakeDnsError(ARES_ENODATA) || error == MakeDnsError(ARES_ENOTFOUND);
}

}  // namespace

boost::system::error_code Lookup::error() const {
  if (!v4_.answer.addresses.empty() || !v6_.answer.addresses.empty()) return {};
  // A server that failed for one family says more than one that has nothing in the other.
  if (!IsNoAddress(v4_.answer.error)) return v4_.answer.error;
  if (v6_.answer.error && !IsNoAddress(v6_.answer.error)) return v6_.answer.error;
  return v4_.answer.error;
}

void Lookup::Set(Part& part, DnsAnswer answer) {
  part.answer = std::move(answer);
  part.done = true;
  for (AsyncEvent* waiter : waiters_) waiter->Set();
}

std::shared_ptr<Lookup> DnsCache::Get(const std::string& host) {
  const SteadyTime now = clock_.Now();
  if (const auto it = entries_.find(host); it != entries_.end()) {
    if (!it->second->done() || now < it->second->expires_) return it->second;
  }
  auto lookup = std::make_shared<Lookup>();
  Insert(host, lookup);
  if (!ask_ipv6_) lookup->v6_.done = true;
  if (ask_ipv6_) Ask(host, lookup, Family::kIpv6);
  Ask(host, lookup, Family::kIpv4);
  return lookup;
}

void DnsCache::Insert(const std::string& host, std::shared_ptr<Lookup> lookup) {
  if (entries_.insert_or_assign(host, std::move(lookup)).second) order_.push_back(host);
  while (order_.size() > kMaxEntries) {
    entries_.erase(order_.front());  // its waiters keep it alive
    order_.pop_front();
  }
}

void DnsCache::Ask(const std::string& host, const std::shared_ptr<Lookup>& lookup, Family family) {
  // The cache outlives the resolver's queries: both belong to one worker.
  resolver_.Resolve(host, family, [this, lookup, family](DnsAnswer answer) {
    Lookup::Part& part = family == Family::kIpv4 ? lookup->v4_ : lookup->v6_;
    if (!answer.error) {
      const SteadyTime end = clock_.Now() + std::min(answer.ttl, kMaxTtl);
      lookup->expires_ = lookup->expires_ == SteadyTime{} ? end : std::min(lookup->expires_, end);
    }
    lookup->Set(part, std::move(answer));
  });
}

}  // namespace fetchbench::native
