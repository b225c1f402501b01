#include "coordinator/run/agent_roster.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace fetchbench::coordinator {

AgentRoster::AgentRoster(net::any_io_executor loop, const Clock& clock)
    : loop_(std::move(loop)), clock_(clock), changed_(loop_) {}

void AgentRoster::Connect(const std::vector<AgentEndpoint>& endpoints, std::string boot_id,
                          const v1::Start& start, AgentSessionLimits limits, const AgentCare& care,
                          const std::function<AgentEvents(AgentIndex)>& events_of) {
  std::vector<std::string> names;
  for (const AgentEndpoint& endpoint : endpoints) names.push_back(endpoint.shown());
  board_ = std::make_unique<AgentBoard>(names, std::move(boot_id), start.options().concurrency());
  for (AgentIndex i = 0; i < endpoints.size(); ++i) {
    sessions_.push_back(
        std::make_shared<AgentSession>(loop_, endpoints[i], start, limits, events_of(i)));
    AgentSession& session = *sessions_.back();
    session.set_release(care.release);
    if (care.make_ready) {
      session.set_make_ready(
          [make_ready = care.make_ready, i](absl::Status refused, v1::Start& its) {
            return make_ready(i, std::move(refused), its);
          });
    }
    if (care.admit) {
      session.set_admit(
          [admit = care.admit, i](v1::Started started) { return admit(i, std::move(started)); });
    }
  }
  for (const auto& session : sessions_) session->Begin();
}

bool AgentRoster::AllWant(const std::vector<bool>& expected) const {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (expected[i] && !sessions_[i]->ended() && sessions_[i]->credit() == 0) return false;
  }
  return true;
}

// Its agent has taken Start, and no word came since: a container takes its time on a busy host.
bool AgentRoster::AnyStarting() const {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->ever_started(i)) return false;
  }
  return std::any_of(sessions_.begin(), sessions_.end(), [](const auto& session) {
    return !session->ended() && session->may_be_busy();
  });
}

Task<absl::Status> AgentRoster::WaitConnected(std::chrono::milliseconds limit,
                                              std::chrono::milliseconds start_patience,
                                              std::vector<bool> expected,
                                              std::function<bool()> stopped) {
  expected.resize(sessions_.size(), true);
  const SteadyTime deadline = clock_.Now() + limit;
  bool in_time = true;
  while (in_time && !stopped() && !AllWant(expected)) {
    in_time = co_await changed_.WaitUntil(deadline);
  }
  const SteadyTime last = deadline + start_patience;
  in_time = true;
  if (AnyStarting() && !stopped()) spdlog::warn("waiting for a target that is being started");
  while (in_time && !stopped() && AnyStarting()) in_time = co_await changed_.WaitUntil(last);
  size_t started = 0;
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->ever_started(i)) {
      ++started;
      continue;
    }
    if (!board_->failure(i).ok()) continue;  // said when it gave up
    spdlog::error("agent {} is not there: {}", board_->name(i),
                  board_->trouble(i).empty() ? "no answer" : board_->trouble(i));
  }
  if (started > 0 || stopped()) co_return absl::OkStatus();
  co_return WhyNoneStarted();
}

// Agents that were reached and refused say why, by a code of their own: a wrong option is not an
// agent that is missing.
absl::Status AgentRoster::WhyNoneStarted() const {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    const absl::Status& failure = board_->failure(i);
    if (failure.ok()) {
      return absl::UnavailableError("no agent could be reached: " + board_->TroublesInWords());
    }
    code = i == 0 || failure.code() == code ? failure.code() : absl::StatusCode::kUnavailable;
  }
  return absl::Status(code, "no agent could start the run: " + board_->TroublesInWords());
}

bool AgentRoster::IsHere(AgentIndex agent) const {
  return !sessions_[agent]->ended() && board_->state(agent) == AgentState::kRunning;
}

bool AgentRoster::AnyHere() const {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (IsHere(i)) return true;
  }
  return false;
}

bool AgentRoster::AllEnded() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->ended(); });
}

std::vector<AgentIndex> AgentRoster::MayBeBusy() const {
  std::vector<AgentIndex> agents;
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (sessions_[i]->may_be_busy()) agents.push_back(i);
  }
  return agents;
}

void AgentRoster::ResumeReading() {
  for (const auto& session : sessions_) session->ResumeReading();
}

void AgentRoster::CancelAll(const std::string& reason) {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->state(i) != AgentState::kRunning) {
      AbandonAway(i, /*lost=*/!MerelyStarting(i));
      continue;
    }
    sessions_[i]->SendCancel(reason);
    sessions_[i]->SendFinish();
    sessions_[i]->ResumeReading();
  }
  Wake();
}

void AgentRoster::FinishAll() {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->state(i) == AgentState::kRunning) {
      sessions_[i]->SendFinish();
    } else {
      AbandonAway(i, /*lost=*/true);
    }
  }
}

void AgentRoster::AbandonAll() {
  for (const auto& session : sessions_) {
    if (!session->ended()) session->Abandon();
  }
}

// It has not told yet that it runs the target, and nothing is known against it.
bool AgentRoster::MerelyStarting(AgentIndex agent) const {
  return !board_->ever_started(agent) && board_->trouble(agent).empty();
}

// One that is not here at the end: nothing is taken from it any more.
void AgentRoster::AbandonAway(AgentIndex agent, bool lost) {
  if (sessions_[agent]->ended()) return;
  sessions_[agent]->Abandon();
  if (lost) board_->Lost(agent, "was not there at the end");
}

}  // namespace fetchbench::coordinator
