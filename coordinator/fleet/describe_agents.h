#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

struct DescribedAgent {
  v1::DescribeResponse response;
  // The agent's clock minus this one's, when the call was half-way, of the second of two calls: so
  // that no connection is made in it. Off by half of `round_trip_us` at most.
  int64_t clock_offset_us = 0;
  int64_t round_trip_us = 0;  // without the time that the agent took to answer
};

using Described = absl::StatusOr<DescribedAgent>;

struct DescribeLimits {
  std::chrono::milliseconds answer{5'000};
  bool until_there = false;  // one that cannot be reached may come within that time
};

// What all of these agents are, asked at once; the answers in their order. Unavailable: why an
// agent cannot be reached. `stopped` is looked at often; once it is true, what is open ends as
// Cancelled.
Task<std::vector<Described>> DescribeAll(net::any_io_executor loop,
                                         std::vector<AgentEndpoint> endpoints,
                                         DescribeLimits limits, std::function<bool()> stopped);

// The same, to be called where there is no loop. Blocks.
std::vector<Described> DescribeAll(const std::vector<AgentEndpoint>& endpoints,
                                   DescribeLimits limits);

// The four times of a call: sent and received back by our clock, received and answered by the
// agent's. All in microseconds since the Unix epoch. Pure.
struct CallTimes {
  int64_t sent_us = 0;
  int64_t arrived_us = 0;   // at the agent; 0: it does not tell
  int64_t answered_us = 0;  // by the agent
  int64_t received_us = 0;
};
int64_t ClockOffsetUs(const CallTimes& times);
int64_t RoundTripUs(const CallTimes& times);

// OK when all that answered are of the version `mine`, letter for letter: agent and coordinator
// share a protocol without numbers of its own, and figures of two versions are not figures of one
// program. InvalidArgument names those that are not, and the command that mends it. Pure.
absl::Status CheckVersions(const std::vector<AgentEndpoint>& endpoints,
                           const std::vector<Described>& described, const std::string& mine);

}  // namespace fetchbench::coordinator
