#include "origin/world.h"

#include "origin/planner.h"
#include "origin/stable_hash.h"

namespace fetchbench::origin {

const std::vector<uint32_t>& AddressBook::Of(AddressKind kind) const {
  switch (kind) {
    case AddressKind::kServing:
      break;
    case AddressKind::kRefusing:
      return refusing;
    case AddressKind::kBlackHole:
      return black_hole;
  }
  return serving;
}

World::World(Profile profile, uint64_t seed, AddressBook addresses)
    : profile_(std::move(profile)), seed_(seed), addresses_(std::move(addresses)) {
  std::vector<const ConformanceHost*> hosts;
  for (const ConformanceHost* host : AllBehaviours()) {
    if (host->on_accept != nullptr) hosts.push_back(host);
  }
  constexpr size_t kLeastLeft = 64;
  const auto& serving = addresses_.serving;
  if (serving.size() < hosts.size() + kLeastLeft) return;
  size_t at = serving.size();
  for (const ConformanceHost* host : hosts) first_speakers_.emplace_back(serving[--at], host);
}

const ConformanceHost* World::SpeaksFirstAt(uint32_t address) const {
  for (const auto& [own, host] : first_speakers_) {
    if (own == address) return host;
  }
  return nullptr;
}

HostView World::Look(std::string_view host) const {
  if (!IsConformanceHost(host)) return {PlanHost(profile_, seed_, host), nullptr};
  HostView view;
  view.behaviour = FindBehaviour(host);
  if (view.behaviour == nullptr) {
    view.plan.dns.kind = DnsKind::kNxdomain;
    view.plan.http.status = 404;
  } else {
    view.plan.dns = view.behaviour->dns;
    view.plan.tls = view.behaviour->tls;
  }
  return view;
}

std::vector<uint32_t> World::AddressesOf(std::string_view host, const AddressKinds& kinds) const {
  const ConformanceHost* behaviour = IsConformanceHost(host) ? FindBehaviour(host) : nullptr;
  for (const auto& [own, speaker] : first_speakers_) {
    if (speaker == behaviour) return {own};
  }
  // Which address a host gets says nothing of what it does, so the seed stays out: the same host
  // is found at the same place in every run.
  const uint64_t hash = StableHash(0, "address", host);
  std::vector<uint32_t> addresses;
  addresses.reserve(kinds.size);
  for (size_t i = 0; i < kinds.size; ++i) {
    const std::vector<uint32_t>& pool = addresses_.Of(kinds.kinds[i]);
    const size_t taken = kinds.kinds[i] == AddressKind::kServing ? first_speakers_.size() : 0;
    addresses.push_back(pool[(hash + i) % (pool.size() - taken)]);
  }
  return addresses;
}

}  // namespace fetchbench::origin
