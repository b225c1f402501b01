#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/net.h"
#include "coordinator/cli/options.h"
#include "coordinator/host/placement.h"
#include "coordinator/prepare/prepare_fleet.h"
#include "coordinator/run/fleet_facts.h"
#include "coordinator/run/fleet_images.h"
#include "coordinator/run/list_loader.h"
#include "coordinator/run/resume_state.h"
#include "coordinator/run/run_report.h"
#include "coordinator/run/run_setup.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"

namespace fetchbench::coordinator {

// What a run plays on: its agents, its web, its target made ready. Starts those that were not
// named, and ends what it started. On the control loop.
class RunStage {
 public:
  struct Events {
    std::function<void(const std::string&)> say;  // for a person
    std::function<bool()> interrupted;            // by the user: give up waiting
    std::function<bool()> stopped;                // for whatever reason
  };

  // `options` and `identity` outlive it. `before`: the state of the run's earlier session; what
  // differs from it is an error (InvalidArgument). Null: there was none.
  RunStage(net::any_io_executor loop, const RunOptions& options, const RunIdentity& identity,
           const ResumeState* before, Events events);

  // Everything, in the order that the target needs. At least one agent is ready afterwards.
  Task<absl::Status> SetUp();
  // The web expects the run: certificates of its hosts, counters at 0.
  Task<absl::Status> BeginRun(std::string session_id, LoadedList& list);
  // What the web saw; empty when it cannot tell, and why is then in origin_trouble().
  Task<std::optional<OriginSummary>> AskOrigin(std::string session_id);
  Task<> Stop(bool hurry);
  // At once, without waiting for anything.
  void DropAgent() { local_agent_.reset(); }

  const SimulatedWeb* web() const { return web_ ? &*web_ : nullptr; }
  OriginClient* origin_client() { return web_ ? web_->client.get() : nullptr; }
  const std::string& origin_trouble() const { return origin_trouble_; }
  // The origin that options name did not answer when it was needed, for as long as it was asked.
  bool origin_away() const { return origin_away_; }

  const std::vector<AgentEndpoint>& agents() const { return agents_; }
  // The agents that have said something, good or bad.
  const std::vector<bool>& reached() const { return reached_; }
  // Why each of them could not make the target ready; OK: it could, or was not asked.
  const std::vector<absl::Status>& refused() const { return refused_; }
  // What our own agent and web have logged goes where our log goes.
  void PassOnLogs();
  // Why there is no hope for our own agent; empty: it lives, or there is none.
  std::optional<std::string> LocalAgentEnd();

  // What every agent is told. After SetUp.
  v1::Start StartOf(const std::string& session_id) const;
  // An agent refused to start: makes its image that of the others, if that is what it lacks. See
  // AgentSession::MakeReady.
  Task<absl::Status> MakeReadyAgain(size_t agent, absl::Status refused, v1::Start& start);
  // An agent runs the target. An error: it must not, since it is not what the others run, or what
  // it ran before; see FleetFacts.
  absl::Status Admit(size_t agent, const v1::Started& started);
  // By architecture; none: the target runs in no container.
  std::map<std::string, std::string> image_ids() const;

  const v1::TargetSpec& target() const { return target_; }
  // Of the first agent that was ready; null before.
  const v1::TargetFacts* facts() const { return facts_ ? &*facts_ : nullptr; }
  const std::map<std::string, v1::TargetFacts>& facts_by_agent() const {
    return fleet_facts_.by_agent();
  }
  // Rows of the display before the agents run.
  const std::vector<AgentProgress>& preparing() const { return preparing_; }

 private:
  Task<absl::Status> StartAgents();
  Task<absl::Status> CheckAgents();
  Task<> ReleaseAgents();
  Task<absl::Status> StartWeb();
  Task<absl::Status> Prepare();
  absl::Status JudgePrepared(const std::vector<absl::StatusOr<v1::TargetFacts>>& results);
  absl::Status CheckSameImages(const std::map<std::string, FleetImage>& images) const;
  void ShowPrepare(size_t agent, const v1::PrepareProgress& progress);

  net::any_io_executor loop_;
  const RunOptions& options_;
  const RunIdentity& identity_;
  const ResumeState* before_;
  Events events_;
  Placement placement_;
  std::optional<SimulatedWeb> web_;
  std::string origin_trouble_;
  bool origin_away_ = false;
  std::optional<LocalAgent> local_agent_;
  std::vector<AgentEndpoint> agents_;
  std::vector<bool> reached_;
  std::vector<absl::Status> refused_;
  std::vector<bool> answered_;  // when they were first asked; empty: they were not
  v1::TargetSpec target_;
  std::vector<AgentProgress> preparing_;
  std::unique_ptr<FleetImages> images_;
  std::optional<v1::TargetFacts> facts_;
  FleetFacts fleet_facts_;
};

}  // namespace fetchbench::coordinator
