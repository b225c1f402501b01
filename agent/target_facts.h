#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// From the JSON object that `PROGRAM --describe` prints; missing members stay empty.
// InvalidArgument when it is no such object. Pure.
absl::StatusOr<v1::TargetFacts> ParseTargetFacts(std::string_view text);

// Runs `program --describe` as a child on the loop. An error names the program and says what was
// wrong. `stopping` is asked every 100 ms; when it says so the child is killed, and the error is
// Unavailable.
Task<absl::StatusOr<v1::TargetFacts>> DescribeTarget(net::any_io_executor loop, std::string program,
                                                     std::vector<int> cpus,
                                                     std::chrono::milliseconds patience,
                                                     std::function<bool()> stopping);

}  // namespace fetchbench::agent
