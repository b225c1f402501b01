#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/record.h"
#include "coordinator/summary/summary.h"
#include "coordinator/verify/judge.h"

namespace fetchbench::coordinator {

// What a client does with many hosts at once: a list of its own, and a verdict on the whole run.
// Rows of the matrix in the family `resources`, after the behaviours.
struct ResourceCheck {
  std::string name;
  std::string about;
  std::vector<std::string> urls;
  uint32_t concurrency = 1;
  int64_t timeout_us = 5'000'000;
  size_t bystanders = 0;  // the last so many URLs are ordinary hosts that must all succeed
};

// The four of them. `limit-*` must be first: it is the small run that `memory-*` compares with.
std::vector<ResourceCheck> ResourceChecks();

// Growth of the peak from a run over a few hundred hosts to one over 10,000 that a client may have.
inline constexpr uint64_t kMemoryGrowthLimit = uint64_t{256} << 20;

// What a run of `check` came to. `small_peak_bytes`: peak memory of the small run, 0 when unknown.
// Tokens: in_flight, memory_growth, others_starved, no_record and the outcomes that took the place
// of an answer. Pure.
std::vector<Finding> JudgeResource(const ResourceCheck& check,
                                   const std::vector<std::optional<Record>>& records,
                                   const Summary& summary, uint64_t small_peak_bytes);

}  // namespace fetchbench::coordinator
