#include "coordinator/run/run_journal.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace fetchbench::coordinator {
namespace {

// Who resumes may stand elsewhere.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// By agent: a run may be resumed any number of times.
std::vector<Disturbance> SumUp(std::vector<Disturbance> earlier,
                               const std::vector<Disturbance>& later) {
  for (const Disturbance& d : later) {
    const auto same = std::find_if(earlier.begin(), earlier.end(),
                                   [&d](const Disturbance& e) { return e.agent == d.agent; });
    if (same == earlier.end()) {
      earlier.push_back(d);
      continue;
    }
    same->lost = same->lost || d.lost;
    same->reconnects += d.reconnects;
    same->urls_moved += d.urls_moved;
    if (!d.trouble.empty()) same->trouble = d.trouble;
  }
  return earlier;
}

}  // namespace

absl::StatusOr<RunJournal> RunJournal::Begin(RunFolder folder, const Clock& clock,
                                             const RunIdentity& identity,
                                             const RunOptions& options) {
  ResumeState state;
  state.version = FETCHBENCH_VERSION;
  state.identity = identity;
  state.options = options;
  if (options.urls != "-") state.options.urls = Absolute(options.urls);
  if (IsFile(options.profile)) state.options.profile = Absolute(options.profile);
  if (!options.base_images.empty()) state.options.base_images = Absolute(options.base_images);
  state.sessions = 1;
  RunJournal journal(std::move(folder), clock, std::move(state));
  if (absl::Status s = journal.Write(); !s.ok()) return s;
  return journal;
}

absl::StatusOr<RunJournal> RunJournal::GoOn(RunFolder folder, const Clock& clock, ResumeState state,
                                            int64_t down_since_us) {
  ++state.sessions;
  state.disturbed_earlier = SumUp(state.disturbed_earlier, std::exchange(state.disturbed, {}));
  state.down_since_us = down_since_us;
  state.end.clear();
  state.ended_us = 0;
  RunJournal journal(std::move(folder), clock, std::move(state));
  if (absl::Status s = journal.Write(); !s.ok()) return s;
  return journal;
}

absl::Status RunJournal::NoteList(uint64_t urls, uint64_t invalid) {
  state_.list_loaded = true;
  state_.urls = urls;
  state_.invalid = invalid;
  return Write();
}

void RunJournal::NotDownBefore(int64_t wall_us) {
  state_.down_since_us = std::max(state_.down_since_us, wall_us);
}

absl::StatusOr<Pause> RunJournal::NoteFeeding(const MadeReady& ready) {
  if (!ready.target.name().empty()) state_.target = ready.target;
  // Those of agents that were there before and are not now stay.
  for (const auto& [name, facts] : ready.facts) state_.facts[name] = facts;
  for (const auto& [architecture, id] : ready.image_ids) state_.image_ids[architecture] = id;
  if (!ready.profile_sha256.empty()) state_.profile_sha256 = ready.profile_sha256;
  state_.fed_since_us = clock_->WallUs();
  Pause pause;
  if (resumed()) {
    pause = {state_.down_since_us, std::max(state_.down_since_us, state_.fed_since_us)};
    state_.pauses.push_back(pause);
    state_.down_since_us = 0;
  }
  if (absl::Status s = Write(); !s.ok()) return s;
  return pause;
}

absl::Status RunJournal::NoteDisturbed(std::vector<Disturbance> disturbed) {
  if (disturbed == state_.disturbed || clock_->Now() < disturbed_due_) return absl::OkStatus();
  disturbed_due_ = clock_->Now() + kDisturbedInterval;
  std::vector<Disturbance> before = std::exchange(state_.disturbed, std::move(disturbed));
  absl::Status written = Write();
  // What is not on disk is still to be noted when it is asked for again.
  if (!written.ok()) state_.disturbed = std::move(before);
  return written;
}

absl::Status RunJournal::NoteEnd(const Summary& summary, std::vector<Disturbance> disturbed) {
  state_.disturbed = std::move(disturbed);
  state_.end = RunEndName(summary.end);
  state_.ended_us = clock_->WallUs();
  if (state_.fed_since_us > 0) {
    state_.fed_us += std::max<int64_t>(state_.ended_us - state_.fed_since_us, 0);
    state_.fed_since_us = 0;
  }
  state_.duplicates_dropped = summary.ledger.duplicates_dropped;
  state_.requested_again = summary.ledger.requested_again;
  if (absl::Status s = Write(); !s.ok()) return s;
  if (summary.end == RunEnd::kComplete) folder_.Remove("urls.spool");
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
