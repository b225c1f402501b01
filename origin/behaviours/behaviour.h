#pragma once

#include <span>
#include <string_view>

#include "common/net.h"
#include "origin/exchange.h"
#include "origin/host_plan.h"

// Named behaviours: the hosts <name>.conformance.test, written by hand instead of drawn from a
// profile, so that a test can meet one fault at a time.
namespace fetchbench::origin {

inline constexpr std::string_view kConformanceDomain = "conformance.test";

// One named behaviour. `serve` answers every request to the host, over http and https alike; a host
// whose DNS, address or TLS plan never lets a request through may leave it null. Tables of these
// are constants; `name` and what `serve` points to live for the whole program.
struct ConformanceHost {
  std::string_view name;  // the label before ".conformance.test": a-z, 0-9 and '-'
  DnsPlan dns{};          // with dns.addresses for the connect phase
  TlsPlan tls{};
  Task<> (*serve)(Exchange) = nullptr;
};

// The behaviour of that name, or null. Names with several labels are looked up by their last one:
// "a.redirect-loop.conformance.test" is "redirect-loop", so that one behaviour may use many hosts.
// `host` is in lower case; null for hosts outside kConformanceDomain.
const ConformanceHost* FindBehaviour(std::string_view host);

// Whether `host` belongs to the named behaviours at all (unknown ones do not exist in DNS).
bool IsConformanceHost(std::string_view host);

// All of them, for tests that compare them with tests/conformance/behaviours.json.
std::span<const ConformanceHost* const> AllBehaviours();

// The tables, one a file.
std::span<const ConformanceHost> ExampleBehaviours();

}  // namespace fetchbench::origin
