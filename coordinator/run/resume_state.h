#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/run_report.h"
#include "coordinator/summary/pauses.h"
#include "coordinator/summary/summary.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// What a later coordinator must know to go on with a run, beside the records and the list: the
// file resume.json of its folder. Holds no secrets. Pure.
struct ResumeState {
  static constexpr const char* kFileName = "resume.json";

  std::string version;  // fetchbench's; another one does not go on with it
  RunIdentity identity;
  RunOptions options;
  // The list is in urls.spool, as a whole. Before, nothing has been fetched.
  bool list_loaded = false;
  uint64_t urls = 0;
  uint64_t invalid = 0;

  // What ran, once that is known: nothing else may go on with it.
  v1::TargetSpec target;
  std::map<std::string, v1::TargetFacts> facts;  // by the agent's name
  std::map<std::string, std::string> image_ids;  // by architecture; a container target's
  std::string profile_sha256;                    // of the simulated web; empty: not known, or none

  uint32_t sessions = 0;      // coordinators that have begun or resumed it
  std::vector<Pause> pauses;  // between them
  int64_t fed_since_us = 0;   // of the present session, when URLs began to flow; 0: not yet
  int64_t fed_us = 0;         // how long they flowed in all earlier ones
  // Since when nothing goes on, while a coordinator that resumed the run has not begun to lend
  // URLs; 0: something does.
  int64_t down_since_us = 0;
  std::string end;                     // RunEndName, of the last session; empty: it did not say
  int64_t ended_us = 0;                // when
  std::vector<Disturbance> disturbed;  // agents, in the present session
  std::vector<Disturbance> disturbed_earlier;  // in all earlier ones, summed up by agent
  uint64_t duplicates_dropped = 0;             // of the ledger, in all earlier sessions
  uint64_t requested_again = 0;
};

std::string ToJson(const ResumeState& state);

// DataLoss: it is not such a text; the first thing in it that is wrong, and what to do.
// FailedPrecondition: another version of fetchbench wrote it, or its target is gone.
// `targets`: to find the target by its name.
absl::StatusOr<ResumeState> ParseResumeState(std::string_view text, const TargetRegistry& targets);

// What differs between what ran and what would run now, in words; empty: nothing. `same_image`: the
// digest of the image counts too; not for one that was built, whose folder and arguments do, and
// that gets another digest when it has to be built anew.
std::string DifferenceOf(const v1::TargetSpec& then, const v1::TargetSpec& now);
std::string DifferenceOf(const std::string& agent, const v1::TargetFacts& then,
                         const v1::TargetFacts& now, bool same_image);

}  // namespace fetchbench::coordinator
