#pragma once

#include <cstdint>
#include <string_view>

#include "common/record.h"

namespace fetchbench {

inline constexpr int64_t kStartLimitUs = int64_t{1} << 59;  // beyond the year 9999

// The numbers of a record as somebody else tells them, a peer or a file: any of them may be
// anything.
struct ToldNumbers {
  int64_t outcome = 0;
  int64_t status = 0;
  int64_t start_us = 0;
  int64_t duration_us = 0;
  int64_t dns_us = kNotTold;
  int64_t connect_us = kNotTold;
  int64_t tls_us = kNotTold;
  int64_t first_byte_us = kNotTold;
  int64_t body_bytes = 0;
  int64_t wire_bytes = kNotTold;
  int64_t redirects = kNotTold;
};

// Puts them into `record`. The one rule for what they can be: the name of the first that is out of
// range, as it is called above, and `record` is as it was; empty: none is.
std::string_view TakeNumbers(const ToldNumbers& told, Record& record);

}  // namespace fetchbench
