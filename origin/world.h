#pragma once

#include <cstdint>
#include <string_view>
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
  World(Profile profile, uint64_t seed, AddressBook addresses)
      : profile_(std::move(profile)), seed_(seed), addresses_(std::move(addresses)) {}

  // `host` is normal (NormalHost). Unknown hosts under conformance.test are NXDOMAIN.
  HostView Look(std::string_view host) const;

  // The addresses of the plan for this host, in host byte order. Two addresses of one kind differ.
  std::vector<uint32_t> AddressesOf(std::string_view host, const AddressKinds& kinds) const;

  const Profile& profile() const { return profile_; }
  uint64_t seed() const { return seed_; }
  const AddressBook& addresses() const { return addresses_; }

 private:
  Profile profile_;
  uint64_t seed_;
  AddressBook addresses_;
};

}  // namespace fetchbench::origin
