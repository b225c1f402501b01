#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/container/build_settings.h"
#include "agent/container/guard_state.h"
#include "agent/cpu_sampler.h"
#include "agent/memory_mark.h"
#include "agent/run_executor.h"
#include "agent/target_process.h"
#include "common/clock.h"
#include "common/credentials.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// What a daemon is, from its options and its host; the same for all runs.
struct AgentConfig {
  std::string version;
  std::string instance_id;  // of this process (instance_id.h); empty: it is not told
  std::string native_path;
  std::string entry_path;        // fetchbench-entry, which every container target begins with
  std::vector<int> target_cpus;  // empty: targets are not pinned
  std::vector<int>
      child_cpus;  // where targets run: target_cpus, or the mask that the daemon was started with
  std::chrono::milliseconds orphan_timeout{600'000};
  // The same for a run that was never lent a URL: for a coordinator whose stream broke while the
  // target was being started. Other runs do not wait for it.
  std::chrono::milliseconds untouched_timeout{30'000};
  std::chrono::milliseconds start_patience{30'000};     // from a stream's opening to its Start
  std::chrono::milliseconds describe_patience{10'000};  // for `TARGET --describe`
  std::chrono::milliseconds container_describe_patience{60'000};  // the same in a container
  RunLimits limits;
  v1::HostFacts host;
  std::string docker_socket;  // of the Engine that runs containers; empty: none
  std::shared_ptr<const Credentials> credentials;  // null: whoever can connect is served
  // Why targets in containers are refused; empty: they are not.
  std::string no_containers;
  std::string metrics;  // where Prometheus finds its figures, see MetricsServer; empty: nowhere
  uint64_t memory_limit_bytes = 0;  // above which all peers are hung up on; 0: none
  MemoryPatience memory_patience;
  // The daemon cannot get below that limit any more: ends the process. From any thread, once; must
  // not block. Empty: nothing happens.
  std::function<void()> give_up;
  BuildSettings build;
  // The note of fetchbench-guard (container/guard_state.h). Containers that must not reach private
  // addresses need its rules; builds get them where it is in force, or need it too.
  std::string guard_state = kGuardStateFile;
};

// A target that is ready to be started.
struct TargetLaunch {
  std::unique_ptr<TargetProcess> process;
  TargetCommand command;
  v1::TargetFacts facts;
  std::optional<v1::ContainerOptions> container;  // limits as applied; none: a child process
};

// What a stream offers to the run that it is attached to. On the loop.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnNews() = 0;                          // Next() may have something
  virtual void OnDisplaced(absl::Status status) = 0;  // detached: end the stream with this
};

// The run under way: target process, executor, and at most one attached stream. On the loop.
class ActiveRun {
 public:
  // Starts the target. An error says what it was that did not start.
  static Task<absl::StatusOr<std::shared_ptr<ActiveRun>>> Begin(const AgentConfig& config,
                                                                const Clock& clock, v1::Start start,
                                                                TargetLaunch launch);

  ActiveRun(const AgentConfig& config, const Clock& clock, const v1::Start& start,
            TargetLaunch launch);

  // `listener` takes over; the one before is displaced.
  // `trouble`: to be told with Started; null: none.
  void Attach(const std::shared_ptr<RunListener>& listener, uint64_t last_committed_seq,
              bool resumed, const v1::MemoryTrouble* trouble = nullptr);
  // Nothing happens when another listener has taken over meanwhile.
  void Detach(const RunListener* listener);
  void Displace(absl::Status status);

  // The next message for the attached stream, if there is one. Finished or Failed is the last.
  std::optional<v1::AgentMessage> Next();

  // Every kTick.
  void Tick();
  static constexpr std::chrono::milliseconds kTick{50};

  bool attached() const { return attached_ != nullptr; }
  // No stream has been attached for the orphan timeout, or the shorter one of an untouched run.
  bool orphaned() const;
  // It told of what it uses, so another stream would be told the same again.
  bool told_usage() const { return told_usage_; }
  // It was lent nothing, and no stream has it: nobody needs to wait for it.
  bool unused() const { return attached_ == nullptr && executor_.untouched(); }
  // Nothing is left to tell but the last message.
  std::optional<v1::AgentMessage> Final() const;

  RunExecutor& executor() { return executor_; }
  const RunExecutor& executor() const { return executor_; }
  // For the metrics; what a live target used is that of the last progress message.
  RunCounts counts() const;
  const v1::TargetUsage& last_usage() const { return last_usage_; }
  const std::string& id() const { return id_; }
  // What the coordinator that began it calls this agent; empty: it did not say.
  const std::string& agent() const { return agent_; }
  int64_t since_us() const { return since_us_; }

 private:
  v1::AgentMessage MakeStarted();
  v1::AgentMessage MakeProgress();
  void Notify();

  const AgentConfig& config_;
  const Clock& clock_;
  const std::string id_;
  const std::string agent_;
  const int64_t since_us_;
  const v1::TargetFacts facts_;
  const std::optional<v1::ContainerOptions> container_;
  const std::chrono::milliseconds orphan_timeout_;
  const std::chrono::milliseconds progress_interval_;
  OwnUsage usage_at_start_;
  CpuSampler cpu_;
  RunExecutor executor_;
  const std::unique_ptr<TargetProcess> process_;  // destroyed first: it calls the executor

  std::weak_ptr<RunListener> listener_;
  const RunListener* attached_ = nullptr;
  SteadyTime detached_since_;
  SteadyTime progress_due_;
  bool started_due_ = false;
  bool resumed_ = false;
  std::optional<v1::MemoryTrouble> trouble_;
  bool final_sent_ = false;
  bool told_usage_ = false;
  v1::TargetUsage last_usage_;
};

}  // namespace fetchbench::agent
