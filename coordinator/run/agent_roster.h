#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/wakeup.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/agent_session.h"

namespace fetchbench::coordinator {

// What is done about agents beside feeding them: see AgentSession. Each may be empty.
struct AgentCare {
  AgentSession::Release release = {};
  std::function<Task<absl::Status>(AgentIndex agent, absl::Status refused, v1::Start& start)>
      make_ready = {};
  std::function<Task<absl::Status>(AgentIndex agent, v1::Started started)> admit = {};
};

// The agents of a run, each with its session and its row on the board: who is here, who may come
// back, and what is said to all of them. On the control loop.
class AgentRoster {
 public:
  AgentRoster(net::any_io_executor loop, const Clock& clock);

  // Dials every agent. Each gets `start` and the events that `events_of` makes for it. `boot_id`:
  // of this host, see AgentBoard. Once.
  void Connect(const std::vector<AgentEndpoint>& endpoints, std::string boot_id,
               const v1::Start& start, AgentSessionLimits limits, const AgentCare& care,
               const std::function<AgentEvents(AgentIndex)>& events_of);
  // Until every agent that is `expected` wants URLs or has failed, `limit` has passed, or
  // `stopped`. When none has started by then and one is at it, `start_patience` more for the first.
  // At least one started, or stopped: OK.
  Task<absl::Status> WaitConnected(std::chrono::milliseconds limit,
                                   std::chrono::milliseconds start_patience,
                                   std::vector<bool> expected, std::function<bool()> stopped);
  // Something changed that WaitConnected looks at.
  void Wake() { changed_.Notify(); }

  size_t size() const { return sessions_.size(); }
  bool connected() const { return board_ != nullptr; }
  AgentSession& session(AgentIndex agent) { return *sessions_[agent]; }
  AgentBoard& board() { return *board_; }
  const AgentBoard& board() const { return *board_; }

  // Runs the target for us now.
  bool IsHere(AgentIndex agent) const;
  bool AnyHere() const;
  // None may bring records any more. One that is away past its grace still may, as long as it is
  // being dialled.
  bool AllEnded() const;

  // Those that may work on this run, or hold what they have of it, when nobody speaks to them any
  // more.
  std::vector<AgentIndex> MayBeBusy() const;

  void ResumeReading();
  // Those that are here are told to stop at once, the others are given up: as lost, unless they
  // were still starting, for which whoever stopped the run did not wait.
  void CancelAll(const std::string& reason);
  // Those that are here are told that no further URL comes, the others are given up as lost.
  void FinishAll();
  void AbandonAll();

 private:
  absl::Status WhyNoneStarted() const;
  bool MerelyStarting(AgentIndex agent) const;
  void AbandonAway(AgentIndex agent, bool lost);
  bool AllWant(const std::vector<bool>& expected) const;
  bool AnyStarting() const;

  net::any_io_executor loop_;
  const Clock& clock_;
  std::unique_ptr<AgentBoard> board_;
  std::vector<std::shared_ptr<AgentSession>> sessions_;
  Wakeup changed_;
};

}  // namespace fetchbench::coordinator
