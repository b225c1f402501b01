#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "coordinator/run/resume_state.h"
#include "coordinator/run/run_folder.h"
#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

// What a session runs with.
struct MadeReady {
  v1::TargetSpec target = {};
  std::map<std::string, v1::TargetFacts> facts = {};  // by the agent's name
  std::map<std::string, std::string> image_ids = {};  // by architecture
  std::string profile_sha256 = {};  // of the simulated web; empty: not known, or none
};

// Keeps in the run's folder what another coordinator needs to go on with the run, as far as it has
// come. Every Note... is on disk when it returns OK. On the control loop.
class RunJournal {
 public:
  // A new run. `clock` outlives the journal.
  static absl::StatusOr<RunJournal> Begin(RunFolder folder, const Clock& clock,
                                          const RunIdentity& identity, const RunOptions& options);
  // A run that nothing has gone on with since `down_since_us`.
  static absl::StatusOr<RunJournal> GoOn(RunFolder folder, const Clock& clock, ResumeState state,
                                         int64_t down_since_us);

  absl::Status NoteList(uint64_t urls, uint64_t invalid);
  // URLs begin to flow, with what was made ready for them. The pause before, if there was one.
  absl::StatusOr<Pause> NoteFeeding(const MadeReady& ready);
  // What has befallen agents until now, so that a later session can tell. Written when it changed,
  // but not more often than every kDisturbedInterval; the caller asks again and again.
  absl::Status NoteDisturbed(std::vector<Disturbance> disturbed);
  static constexpr std::chrono::seconds kDisturbedInterval{1};
  // The session is over, with these agents disturbed. A run that is complete cannot be resumed, and
  // loses what that would need.
  absl::Status NoteEnd(const Summary& summary, std::vector<Disturbance> disturbed);

  // The coordinator is alive; cheap.
  void SignOfLife() const { folder_.SignOfLife(clock_->WallUs()); }
  // A fetch of an earlier session ended as late as this: it was not down then.
  void NotDownBefore(int64_t wall_us);

  const RunFolder& folder() const { return folder_; }
  const ResumeState& state() const { return state_; }
  bool resumed() const { return state_.sessions > 1; }

 private:
  RunJournal(RunFolder folder, const Clock& clock, ResumeState state)
      : folder_(std::move(folder)), clock_(&clock), state_(std::move(state)) {}
  absl::Status Write() const { return folder_.Write(ResumeState::kFileName, ToJson(state_)); }

  RunFolder folder_;
  const Clock* clock_;
  ResumeState state_;
  SteadyTime disturbed_due_{};
};

}  // namespace fetchbench::coordinator
