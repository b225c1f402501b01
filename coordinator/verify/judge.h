#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/record.h"
#include "coordinator/verify/behaviour_table.h"
#include "coordinator/verify/sighting.h"

namespace fetchbench::coordinator {

// A fetch may end so long after its deadline.
inline constexpr int64_t kDeadlineSlackUs = 250'000;

// What a target was told, as against what it did.
struct PolicyAsked {
  int64_t timeout_us = 0;
  std::string user_agent;
};

// One thing that is not as the policy wants it. `token` is what target.json calls it (see
// lib/CONTRACT.md): a status code, an outcome, or one of late, open_after_timeout, body_bytes,
// redirects, retried, user_agent, accept_encoding; method and no_record cannot be declared.
struct Finding {
  std::string token;
  std::string text;  // for people
  // A busy machine may have brought it about. Not of a timeout that ended before the deadline: that
  // is the client's own.
  bool by_deadline = false;

  bool operator==(const Finding&) const = default;
};

// Compares what a target said (`record`; empty: nothing) and what the origin saw with what the
// table expects. Empty: all is well. Pure.
std::vector<Finding> Judge(const Behaviour& behaviour, const std::optional<Record>& record,
                           const Sighting& seen, const PolicyAsked& asked);

// What two looks at one behaviour come to.
struct TwoLooks {
  std::vector<Finding> stay;
  std::vector<Finding> once;  // may have been the machine
};

// A finding by deadline stays if both looks have it, any other if one has it. When none would stay
// and the second look is no better than the first, its findings do. Pure.
TwoLooks Compare(std::vector<Finding> first, std::vector<Finding> second);

}  // namespace fetchbench::coordinator
