#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/active_run.h"
#include "agent/agent_counts.h"
#include "agent/container/container_launcher.h"
#include "agent/memory_troubles.h"
#include "agent/native_facts.h"
#include "common/clock.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Keeps the one run that an agent has at a time: starts it, hands it over to the stream that
// reconnects, drops it when nobody comes. On the loop; lives as long as the loop runs.
class RunKeeper {
 public:
  RunKeeper(AgentConfig config, const Clock& clock, net::any_io_executor loop);

  struct Opened {
    std::shared_ptr<ActiveRun> run;  // to attach to, or
    // All that is left of a run whose end was not delivered, or the end of one that is not begun.
    std::optional<v1::AgentMessage> final;
    bool resumed = false;
  };

  // The run of `start`: under way already, or started now. ResourceExhausted: busy with another
  // one. Unavailable: try again. InvalidArgument, NotFound and others: it cannot be started, and
  // why.
  Task<absl::StatusOr<Opened>> Open(v1::Start start);

  // The last message of this run is about to be sent. From now on the agent is free: a coordinator
  // may start its next run as soon as it has read that message. It is kept for one that loses its
  // connection just then.
  void Conclude(const std::shared_ptr<ActiveRun>& run, v1::AgentMessage final);
  // It arrived.
  void Delivered(const std::string& run_id);
  // The stream of this run is gone.
  void Left(const std::shared_ptr<ActiveRun>& run);

  // Ends the run under way, if there is one, and forgets its records: its coordinator may begin it
  // again from the last batch that it has.
  void DropRun(const std::string& why);

  // Everybody was hung up on because the daemon had `bytes` of memory; is told to who comes next.
  void HungUpForMemory(uint64_t bytes);
  // Drops the run, if there is one, as that did not help. One that had to be dropped twice is not
  // started again.
  void DropRunForMemory(uint64_t bytes);

  // Ends what is under way; nothing starts any more.
  void ShutDown();

  Task<v1::DescribeResponse> Describe();
  // ResourceExhausted: a run is under way or being started, and a build would disturb it.
  absl::Status CheckIdle() const { return CheckFree(""); }
  // NotFound: there is no such target here. PermissionDenied: it may not be run for whoever can
  // connect.
  absl::Status CheckTarget(const v1::TargetSpec& target) const;
  // Before the first run: removes what agents that are gone left behind.
  void CleanUp();
  // Checks that the target exists and describes itself. ResourceExhausted: it would have to be
  // started for that, and a run is under way.
  Task<absl::StatusOr<v1::TargetFacts>> Facts(v1::TargetSpec target);

  // What happened here; who serves streams and builds counts too.
  AgentCounts& counts() { return counts_; }
  const AgentCounts& counts() const { return counts_; }
  const MemoryTroubles& memory() const { return memory_; }
  // Null: none is under way.
  const ActiveRun* run() const { return run_.get(); }

  const AgentConfig& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  ContainerLauncher& containers() { return containers_; }
  // For what is waited for: whether to give it up. Not to be called when this is gone.
  std::function<bool()> Stopping() const;

 private:
  struct Remains {
    std::string run_id;
    v1::AgentMessage final;
    uint64_t last_seq = 0;
    SteadyTime until;
  };

  std::optional<v1::AgentMessage> RemainsOf(const v1::Start& start);
  absl::Status CheckFree(const std::string& run_id) const;
  Task<absl::StatusOr<Opened>> Begin(v1::Start start);
  Task<absl::StatusOr<TargetLaunch>> Launch(v1::Start start);
  Task<> Watch(std::shared_ptr<ActiveRun> run);
  void ConcludeIfOver(const std::shared_ptr<ActiveRun>& run);
  void Drop(const std::shared_ptr<ActiveRun>& run);

  const AgentConfig config_;
  const Clock& clock_;
  net::any_io_executor loop_;
  ContainerLauncher containers_;
  NativeFacts native_;
  std::shared_ptr<ActiveRun> run_;
  std::string opening_;  // id of the run whose target is being started
  int64_t opening_since_us_ = 0;
  std::optional<Remains> remains_;
  std::string cancelled_;  // id of the last run that was: it is not begun again
  AgentCounts counts_;
  MemoryTroubles memory_;
  bool shutting_down_ = false;
};

}  // namespace fetchbench::agent
