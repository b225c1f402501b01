#pragma once

#include <cstdint>

#include "common/record.h"

namespace fetchbench::test {

inline constexpr int64_t kSecond = 1'000'000;
inline constexpr int64_t kBegin = 1'769'903'999 * kSecond;

inline Record Answer(uint64_t index, int64_t start_us, int64_t duration_us = 1000) {
  Record r;
  r.index = index;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = start_us;
  r.duration_us = duration_us;
  r.body_bytes = 10;
  return r;
}

}  // namespace fetchbench::test
