#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "common/net.h"
#include "coordinator/prepare/prepare_fleet.h"

namespace fetchbench::coordinator {

// The images of a run after its agents were made ready: which one each architecture has, and what
// is done about an agent that comes later, or comes back, with another one or none. On the loop;
// outlives its calls.
class FleetImages {
 public:
  // `call` as PrepareFleet had it, `images` as it came back.
  FleetImages(FleetCall call, std::map<std::string, FleetImage> images);
  FleetImages(const FleetImages&) = delete;
  FleetImages& operator=(const FleetImages&) = delete;

  // For Start.image_ids.
  std::map<std::string, std::string> Ids() const;

  // The agent refused to start the target, as `refused` says. If that may be for its image: sees to
  // it that it has the one of its architecture, or is the first of an architecture to have one. OK:
  // it may be started with Ids() as they are now. Unavailable: it cannot be reached. Else why it
  // cannot be started: `refused`, and what came of the attempt.
  Task<absl::Status> MakeReadyAgain(size_t agent, absl::Status refused);

  // It runs the target. When it refuses again, that is another matter.
  void Started(size_t agent) { had_it_.erase(agent); }

  // Nobody waits for it any more: what is under way ends soon, and the archives of images that were
  // kept for agents to come are let go.
  void Close();

 private:
  // `seen`: the image that the agent has.
  Task<absl::Status> Bring(ImageSighting seen);
  Task<absl::StatusOr<v1::PrepareProgress>> Send(size_t agent, FleetImage& image);

  FleetCall call_;
  std::map<std::string, FleetImage> images_;
  std::set<std::string> busy_;  // architectures; one agent of each at a time
  // Agents that refused since they last ran it, and had the right image when it was looked for.
  std::set<size_t> had_it_;
  bool closed_ = false;
};

}  // namespace fetchbench::coordinator
