#pragma once

#include <cstdint>
#include <string>

#include "common/outcome.h"

namespace fetchbench {

// Value of a field that the target did not tell.
inline constexpr int64_t kNotTold = -1;

// Every duration and byte count of a record is below: exact in a double, which JSON's numbers are,
// and small enough that sums over all records of a run do not overflow by accident.
inline constexpr int64_t kFigureLimit = int64_t{1} << 53;
// The same for the number of redirects.
inline constexpr int kRedirectsLimit = 1'000'000;

// What happened to one URL; exactly one is stored per URL index of a run. Times are microseconds,
// `start_us` since the Unix epoch in UTC. The URL itself travels beside the record: the coordinator
// knows it by `index`.
struct Record {
  uint64_t index = 0;
  Outcome outcome = Outcome::kUnspecified;
  int status =
      0;  // HTTP status code with kStatus, and where one is known beside a failure; otherwise 0
  std::string error;  // raw text of the failure, as the target gave it
  int64_t start_us = 0;
  int64_t duration_us = 0;
  int64_t dns_us = kNotTold;  // sums over all hops of a redirected fetch
  int64_t connect_us = kNotTold;
  int64_t tls_us = kNotTold;
  int64_t first_byte_us = kNotTold;  // from start to the first byte of the last response
  int64_t body_bytes = 0;            // after transfer decoding
  int64_t wire_bytes = kNotTold;     // read from sockets, TLS framing included
  int redirects = kNotTold;
  std::string remote_address;  // "192.0.2.1:443" of the last connection, or empty
  std::string http_version;    // "1.0", "1.1" ..., or empty
  std::string tls_version;     // "1.2", "1.3", or empty

  bool operator==(const Record&) const = default;
};

}  // namespace fetchbench
