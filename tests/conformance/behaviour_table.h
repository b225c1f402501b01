#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/outcome.h"
#include "common/record.h"

// tests/conformance/behaviours.json, read and checked. See README.md for the format.
namespace fetchbench::conformance {

struct Behaviour {
  std::string name;
  std::string family;
  std::string url;
  std::vector<Outcome> outcomes;    // allowed ones, at least one
  std::vector<int64_t> status;      // allowed ones when the outcome is a status
  std::vector<int64_t> body_bytes;  // likewise; empty: any
  std::vector<int64_t> redirects;   // whatever the outcome; empty: any
  double timeout_s = 0;             // 0: the run's
  bool native_only = false;
  std::string source;
  std::string about;
};

// InvalidArgument names the row and the member that is wrong.
absl::StatusOr<std::vector<Behaviour>> ReadBehaviours(const std::string& path);

// Empty when the record is as expected; otherwise what differs, for people.
std::string Difference(const Behaviour& behaviour, const Record& record);

}  // namespace fetchbench::conformance
