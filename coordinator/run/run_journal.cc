#include "coordinator/run/run_journal.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/blocking.h"

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
  std::string& credentials = state.options.credentials.named;
  if (!credentials.empty()) credentials = Absolute(credentials);
  if (!options.base_images.empty()) state.options.base_images = Absolute(options.base_images);
  state.sessions = 1;
  if (absl::Status s = folder.Write(ResumeState::kFileName, ToJson(state)); !s.ok()) {
    folder.Discard();  // nobody could go on with it
    return s;
  }
  return RunJournal(std::move(folder), clock, std::move(state));
}

absl::StatusOr<RunJournal> RunJournal::GoOn(RunFolder folder, const Clock& clock, ResumeState state,
                                            int64_t down_since_us) {
  ++state.sessions;
  state.disturbed_earlier = SumUp(state.disturbed_earlier, std::exchange(state.disturbed, {}));
  state.down_since_us = down_since_us;
  state.end.clear();
  state.ended_us = 0;
  if (absl::Status s = folder.Write(ResumeState::kFileName, ToJson(state)); !s.ok()) return s;
  return RunJournal(std::move(folder), clock, std::move(state));
}

Task<absl::Status> RunJournal::Write() {
  const std::string text = ToJson(state_);
  const net::any_io_executor loop = co_await net::this_coro::executor;
  const auto turn = std::make_shared<Wakeup>(loop);
  turns_.push_back(turn);
  if (turns_.size() > 1) co_await turn->WaitUntil();
  const auto write = [this, &text] { return folder_.Write(ResumeState::kFileName, text); };
  absl::Status written = co_await RunBlocking(loop, write);
  unwritten_ = !written.ok();
  turns_.pop_front();
  if (!turns_.empty()) turns_.front()->Notify();
  co_return written;
}

Task<absl::Status> RunJournal::NoteList(uint64_t urls, uint64_t invalid) {
  state_.list_loaded = true;
  state_.urls = urls;
  state_.invalid = invalid;
  absl::Status written = co_await Write();
  // What no later coordinator would read counts for none.
  if (!written.ok()) state_.list_loaded = false;
  co_return written;
}

void RunJournal::NotDownBefore(int64_t wall_us) {
  state_.down_since_us = std::max(state_.down_since_us, wall_us);
}

// What is known of agents that were there before and are not now stays. Whether anything is new.
bool RunJournal::Merge(const MadeReady& ready) {
  using google::protobuf::util::MessageDifferencer;
  bool news = false;
  if (!ready.target.name().empty() && !MessageDifferencer::Equals(state_.target, ready.target)) {
    state_.target = ready.target;
    news = true;
  }
  for (const auto& [name, facts] : ready.facts) {
    v1::TargetFacts& known = state_.facts[name];
    news = news || !MessageDifferencer::Equals(known, facts);
    known = facts;
  }
  for (const auto& [architecture, id] : ready.image_ids) {
    news = std::exchange(state_.image_ids[architecture], id) != id || news;
  }
  if (!ready.profile_sha256.empty()) {
    news =
        std::exchange(state_.profile_sha256, ready.profile_sha256) != ready.profile_sha256 || news;
  }
  return news;
}

Task<absl::Status> RunJournal::NoteReady(MadeReady ready) {
  if (state_.fed_since_us == 0) co_return absl::OkStatus();
  const bool news = Merge(ready);
  if (!news && !unwritten_) co_return absl::OkStatus();
  co_return co_await Write();
}

Task<absl::StatusOr<Pause>> RunJournal::NoteFeeding(MadeReady ready) {
  Merge(ready);
  state_.fed_since_us = clock_->WallUs();
  Pause pause;
  if (resumed()) {
    pause = {state_.down_since_us, std::max(state_.down_since_us, state_.fed_since_us)};
    state_.pauses.push_back(pause);
    state_.down_since_us = 0;
  }
  const absl::Status written = co_await Write();
  if (!written.ok()) co_return written;
  co_return pause;
}

Task<absl::Status> RunJournal::NoteDisturbed(std::vector<Disturbance> disturbed) {
  // What is not on disk is still to be noted when it is asked for again.
  const bool news = unwritten_ || disturbed != state_.disturbed;
  if (!news || clock_->Now() < disturbed_due_) co_return absl::OkStatus();
  disturbed_due_ = clock_->Now() + kDisturbedInterval;
  state_.disturbed = std::move(disturbed);
  co_return co_await Write();
}

Task<absl::Status> RunJournal::NoteEnd(const Summary& summary, std::vector<Disturbance> disturbed) {
  state_.disturbed = std::move(disturbed);
  state_.end = RunEndName(summary.end);
  state_.ended_us = clock_->WallUs();
  if (state_.fed_since_us > 0) {
    state_.fed_us += std::max<int64_t>(state_.ended_us - state_.fed_since_us, 0);
    state_.fed_since_us = 0;
  }
  state_.duplicates_dropped = summary.ledger.duplicates_dropped;
  state_.requested_again = summary.ledger.requested_again;
  const bool complete = summary.end == RunEnd::kComplete;
  const absl::Status written = co_await Write();
  if (written.ok() && complete) folder_.Remove("urls.spool");
  co_return written;
}

}  // namespace fetchbench::coordinator
