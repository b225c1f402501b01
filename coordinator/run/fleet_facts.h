#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "coordinator/run/resume_state.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// What the agents of a run have told of their target, and whether what another one tells goes with
// it: whoever comes late, or back, runs what the others run, and what it ran before. Pure.
class FleetFacts {
 public:
  // `before`: the state of the run's earlier session, outlives it; null: there was none. `named`:
  // the target's image was named, and so has to be the same to its digest.
  FleetFacts(const ResumeState* before, bool named) : before_(before), named_(named) {}

  // Those of an agent that was made ready. InvalidArgument: it was another target in an earlier
  // session of the run.
  absl::Status Prepared(const std::string& agent, const v1::TargetFacts& facts);

  // Those of an agent that runs the target by now, on a host of that architecture.
  // FailedPrecondition or InvalidArgument: it must not, since it is another one than in an earlier
  // session, or earlier in this one, or than that of the other agents of its architecture; says
  // which, and what to do. An agent whose target could not tell what it is is taken with what is
  // known of its image.
  absl::Status Started(const std::string& agent, const std::string& architecture,
                       const v1::TargetFacts& facts);

  // Of all that were taken; the last ones of each.
  const std::map<std::string, v1::TargetFacts>& by_agent() const { return by_agent_; }

 private:
  absl::Status CheckEarlier(const std::string& agent, const v1::TargetFacts& facts) const;

  const ResumeState* before_;
  bool named_;
  std::map<std::string, v1::TargetFacts> by_agent_;
  // The agent that began first with all its facts told, by architecture.
  std::map<std::string, std::string> first_;
};

}  // namespace fetchbench::coordinator
