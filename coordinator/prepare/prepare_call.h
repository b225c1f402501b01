#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "coordinator/prepare/prepare_target.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

class ImageCourier;

struct PrepareLimits {
  // For an agent that cannot be reached to come.
  std::chrono::milliseconds connect{5'000};
  // Without a word of an agent that is at work. A build's step may say nothing for long.
  std::chrono::milliseconds silence = std::chrono::minutes(20);
  // In all, however much an agent says: for one that has only to look what is there, and for one
  // that builds an image or waits until it is sent one.
  std::chrono::milliseconds look = std::chrono::minutes(2);
  std::chrono::milliseconds work = std::chrono::hours(3);
  // For an agent to take a piece of what it is sent.
  std::chrono::milliseconds write{30'000};
};

struct PrepareEvents {
  // What agent `i` says of its progress; a build's output line by line.
  std::function<void(size_t i, const v1::PrepareProgress& progress)> progress;
  std::function<bool()> stopped;  // give up: Cancelled
};

// What all calls of one preparation have in common; outlives them.
struct FleetCall {
  net::any_io_executor loop;
  std::vector<AgentEndpoint> endpoints;
  TargetPlan plan;
  std::string folder;  // where an image on its way is kept, in a file without a name
  PrepareLimits limits;
  PrepareEvents events;
  // By architecture: the image that an earlier session of the run had. Taken where it still is.
  std::map<std::string, std::string> earlier_ids = {};

  void Tell(size_t agent, std::string message) const;
};

// What one agent is asked for, beside the target.
struct PrepareWish {
  bool look = false;                // only which image is there; this one, if it is
  std::string image_id;             // the image must be this one; empty: any
  ImageCourier* courier = nullptr;  // where an agent's image comes from that lacks it
};

// One agent, which is waited for when it is only just being started. The last message of a good
// call: `found` when it was only to look, else `ready`. Unavailable: the agent could not be
// reached. Cancelled: the user gave up. DeadlineExceeded: it took longer than the limits. Internal:
// the agent does not keep to the protocol; names it.
Task<absl::StatusOr<v1::PrepareProgress>> PrepareAgent(const FleetCall& call, size_t index,
                                                       PrepareWish wish);

}  // namespace fetchbench::coordinator
