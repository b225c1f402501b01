#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "origin/behaviours/behaviour.h"
#include "origin/host_plan.h"
#include "origin/profile.h"

namespace fetchbench::origin {

// IPv4 addresses in host byte order, by what happens to a connect.
struct AddressBook {
  std::vector<uint32_t> serving;     // never empty
  std::vector<uint32_t> refusing;    // never empty
  std::vector<uint32_t> black_hole;  // never empty

  const std::vector<uint32_t>& Of(AddressKind kind) const;
};

// What a host does, whether drawn from the profile or a named behaviour.
struct HostView {
  HostPlan plan;
  const ConformanceHost* behaviour = nullptr;  // null: the plan's http part holds
};

// All hosts of the simulated web and where they live. Immutable.
class World {
 public:
  World(Profile profile, uint64_t seed, AddressBook addresses);

  // `host` is normal (NormalHost). Unknown hosts under conformance.test are NXDOMAIN.
  HostView Look(std::string_view host) const;

  // The addresses of the plan for this host, in host byte order. Two addresses of one kind differ.
  std::vector<uint32_t> AddressesOf(std::string_view host, const AddressKinds& kinds) const;

  // The behaviour that speaks first at that address, or null. Each has an address of its own,
  // because a connection names its host only in the request; they are the last of the serving ones,
  // and where those are too few there are none.
  const ConformanceHost* SpeaksFirstAt(uint32_t address) const;

  const Profile& profile() const { return profile_; }
  uint64_t seed() const { return seed_; }
  const AddressBook& addresses() const { return addresses_; }

 private:
  Profile profile_;
  uint64_t seed_;
  AddressBook addresses_;
  std::vector<std::pair<uint32_t, const ConformanceHost*>> first_speakers_;  // by address
};

}  // namespace fetchbench::origin
