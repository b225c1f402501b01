#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/wakeup.h"
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
// come. Every Note... is on disk when it returns OK. On the control loop, which goes on while the
// disk is slow: notes are written on other threads, one after the other in the order in which they
// were made. Stays where it is, and alive, while one is under way.
class RunJournal {
 public:
  // A new run. `clock` outlives the journal.
  // The loop waits for the disk here and in GoOn: nothing else is under way yet.
  static absl::StatusOr<RunJournal> Begin(RunFolder folder, const Clock& clock,
                                          const RunIdentity& identity, const RunOptions& options);
  // A run that nothing has gone on with since `down_since_us`.
  static absl::StatusOr<RunJournal> GoOn(RunFolder folder, const Clock& clock, ResumeState state,
                                         int64_t down_since_us);

  Task<absl::Status> NoteList(uint64_t urls, uint64_t invalid);
  // URLs begin to flow, with what was made ready for them. The pause before, if there was one.
  Task<absl::StatusOr<Pause>> NoteFeeding(MadeReady ready);
  // The same of agents that came later. Before NoteFeeding, which has it all, and when nothing is
  // new, this does nothing.
  Task<absl::Status> NoteReady(MadeReady ready);
  // What has befallen agents until now, so that a later session can tell. Written when it changed,
  // but not more often than every kDisturbedInterval; the caller asks again and again.
  Task<absl::Status> NoteDisturbed(std::vector<Disturbance> disturbed);
  static constexpr std::chrono::seconds kDisturbedInterval{1};
  // The session is over, with these agents disturbed. A run that is complete cannot be resumed, and
  // loses what that would need.
  Task<absl::Status> NoteEnd(const Summary& summary, std::vector<Disturbance> disturbed);

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
  bool Merge(const MadeReady& ready);
  // The state as it is now.
  Task<absl::Status> Write();

  RunFolder folder_;
  const Clock* clock_;
  ResumeState state_;
  SteadyTime disturbed_due_{};
  bool unwritten_ = false;  // the disk did not take the last note
  // Writes that wait for their turn; the first one has it. As many as there are callers.
  std::deque<std::shared_ptr<Wakeup>> turns_;
};

}  // namespace fetchbench::coordinator
