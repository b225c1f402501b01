// What a RunController notes in its journal while the run goes on.
#include <chrono>
#include <utility>

#include "coordinator/run/run_controller.h"

namespace fetchbench::coordinator {
namespace {

// Between looks at what has befallen agents.
constexpr std::chrono::milliseconds kNoteInterval{100};

}  // namespace

Task<absl::Status> RunController::NoteList(ListCounts counts) {
  if (engine_->stopping()) co_return absl::OkStatus();
  co_return co_await journal_->NoteList(counts.urls, counts.invalid);
}

MadeReady RunController::Ready() const {
  const SimulatedWeb* web = stage_->web();
  return {stage_->target(), stage_->facts_by_agent(), stage_->image_ids(),
          web == nullptr ? "" : web->config.profile_sha256};
}

// What an agent that comes late brings is noted before it gets URLs. The run goes on without the
// note: only a session that resumes it could miss it.
Task<absl::Status> RunController::Admit(AgentIndex agent, v1::Started started) {
  absl::Status admitted = stage_->Admit(agent, started);
  if (!admitted.ok()) co_return admitted;
  MadeReady ready = Ready();
  const absl::Status noted = co_await journal_->NoteReady(std::move(ready));
  if (!noted.ok()) LogNotNoted(stage_->agents()[agent].shown(), noted);
  co_return admitted;
}

// Apart from ShowProgress, which a slow disk does not hold up. One that is full is told of by the
// store.
Task<> RunController::NoteDisturbed() {
  while (!over_) {
    note_timer_.expires_after(kNoteInterval);
    auto [error] = co_await note_timer_.async_wait(kAsTuple);
    if (error || over_) co_return;
    if (!feeding_) continue;
    const absl::Status noted = co_await journal_->NoteDisturbed(engine_->Disturbances());
    noted.IgnoreError();
  }
}

}  // namespace fetchbench::coordinator
