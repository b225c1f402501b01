#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/outcome.h"
#include "origin/host_plan.h"
#include "origin/profile.h"

// From (profile, seed, host) to what the host does: pure, the same on every machine and next year.
namespace fetchbench::origin {

// Lower case, without a final dot. "EXAMPLE.com." -> "example.com".
std::string NormalHost(std::string_view host);

// `host` without a leading "www.": both names are one site and share its plan, so that a redirect
// between them leads to what was drawn once.
std::string_view SiteOf(std::string_view host);

// `host` is normal. Hosts under conformance.test have no plan here: see behaviours/behaviour.h.
HostPlan PlanHost(const Profile& profile, uint64_t seed, std::string_view host);

// What a perfect client sees of https://host/ within `timeout`: the outcome, the status where there
// is one, and how long it takes if nothing but the planned delays cost time.
struct Expectation {
  Outcome outcome = Outcome::kUnspecified;
  int status = 0;
  Micros duration{0};
  uint64_t body_bytes = 0;
  int redirects = 0;
};
Expectation ExpectFetch(const HostPlan& plan, Micros timeout);

// Time that the body takes at its pace.
Micros BodyTime(const HttpPlan& plan);

}  // namespace fetchbench::origin
