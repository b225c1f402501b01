#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::agent {

// Where fetchbench-guard (deploy/guard/) notes which network rules are in force.
inline constexpr const char* kGuardStateFile = "/run/fetchbench-guard/state";
// Of the rules; another one cannot be relied upon.
inline constexpr int kGuardVersion = 2;
// A datagram to this port of a guarded network's gateway is answered as no firewall does.
inline constexpr uint16_t kGuardProbePort = 7311;

// What the rules hold for: networks out of `pool`, on bridges whose names begin with `bridges`.
struct GuardState {
  uint32_t pool = 0;  // IPv4, host byte order
  int pool_bits = 0;  // 8 to 24
  std::string bridges;
  // As `pool`: the simulated webs that containers of a run on one of them may reach.
  std::vector<uint32_t> origins;
};

// Whether `address`, as in "10.0.0.9", is one of the origins. Pure.
bool NamesOrigin(const GuardState& state, std::string_view address);

// Of the note's text, "key=value" lines. FailedPrecondition: not of our version, or not whole.
// Pure.
absl::StatusOr<GuardState> ParseGuardState(std::string_view text);

// NotFound: there is no such file. PermissionDenied: somebody else than root may have written it.
absl::StatusOr<GuardState> ReadGuardState(const std::string& path);

// The pool is cut into networks of 16 addresses.
inline constexpr int kGuardedNetworkBits = 28;
// How many there are.
uint32_t GuardedNetworks(const GuardState& state);
// The n-th, counted from 0: "10.213.0.16/28".
std::string GuardedSubnet(const GuardState& state, uint32_t n);
// The host's address in it, its first one: "10.213.0.17".
std::string GuardedGateway(const GuardState& state, uint32_t n);

}  // namespace fetchbench::agent
