#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/outcome.h"

// data/behaviours.json, read and checked; tests/conformance/README.md says what it holds.
namespace fetchbench::coordinator {

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

}  // namespace fetchbench::coordinator
