#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// A request as it reached the origin.
struct SeenRequest {
  std::string method = {};
  std::string target = {};                          // path and query
  std::map<std::string, std::string> headers = {};  // names in lower case
  int64_t at_us = 0;                                // UTC, microseconds since the Unix epoch
};

// What the origin saw of one host under conformance.test (GET /v1/hosts/NAME of its control
// endpoint).
struct Sighting {
  uint64_t dns_queries = 0;
  uint64_t connections = 0;                // whose host was told, by SNI or by a request
  uint64_t closes = 0;                     // of those
  std::vector<SeenRequest> requests = {};  // the last few
  std::vector<int64_t> closed_at_us = {};  // the last few; UTC, as above
};

// InvalidArgument: not what an origin answers.
absl::StatusOr<Sighting> ParseSighting(const boost::json::object& object);

}  // namespace fetchbench::coordinator
