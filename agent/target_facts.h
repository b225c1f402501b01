#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/target_process.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// From the JSON object that `PROGRAM --describe` prints; missing members stay empty.
// InvalidArgument when it is no such object. Pure.
absl::StatusOr<v1::TargetFacts> ParseTargetFacts(std::string_view text);

// Starts `process` with `command`, which makes it describe itself, and reads its answer. An error
// says what was wrong with `what`. `stopping` is asked every 100 ms; when it says so the process is
// dropped, and the error is Unavailable.
Task<absl::StatusOr<v1::TargetFacts>> DescribeTarget(net::any_io_executor loop,
                                                     std::unique_ptr<TargetProcess> process,
                                                     TargetCommand command, std::string what,
                                                     std::chrono::milliseconds patience,
                                                     std::function<bool()> stopping);

// The same of `program --describe` as a child.
Task<absl::StatusOr<v1::TargetFacts>> DescribeChild(net::any_io_executor loop, std::string program,
                                                    std::vector<int> cpus,
                                                    std::chrono::milliseconds patience,
                                                    std::function<bool()> stopping);

}  // namespace fetchbench::agent
