#pragma once

#include <cstdint>
#include <functional>
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
  size_t bystanders = 0;           // the last so many URLs are ordinary hosts that must all succeed
  std::string compared_with = {};  // the check whose peak memory this one's may not outgrow
};

// The four of them; one that is compared with another comes after it.
std::vector<ResourceCheck> ResourceChecks();

// The checks of these names, and those that they are compared with: without them there would be no
// verdict. Pure.
std::vector<ResourceCheck> ChooseChecks(std::vector<ResourceCheck> checks,
                                        const std::function<bool(const std::string&)>& wanted);

// Growth of the peak from a run over a few hundred hosts to one over 10,000 that a client may have.
inline constexpr uint64_t kMemoryGrowthLimit = uint64_t{256} << 20;

// What a run of `check` came to. `peak_before_bytes`: peak memory of the run that it is compared
// with; 0 for a check that is compared with none. Tokens: in_flight, memory_growth, others_starved.
// Pure.
std::vector<Finding> JudgeResource(const ResourceCheck& check,
                                   const std::vector<std::optional<Record>>& records,
                                   const Summary& summary, uint64_t peak_before_bytes);

}  // namespace fetchbench::coordinator
