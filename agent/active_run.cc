#include "agent/active_run.h"

#include <algorithm>
#include <utility>

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kProgressInterval{1'000};
constexpr milliseconds kShortestProgressInterval{50};
constexpr milliseconds kLongestProgressInterval{60'000};

milliseconds ProgressInterval(const v1::Start& start) {
  if (start.progress_interval_ms() == 0) return kProgressInterval;
  return std::clamp(milliseconds(start.progress_interval_ms()), kShortestProgressInterval,
                    kLongestProgressInterval);
}

RunSettings Settings(const AgentConfig& config, const v1::Start& start) {
  RunSettings settings;
  settings.run_id = start.run_id();
  settings.target_name = start.target().name();
  settings.concurrency = start.options().concurrency();
  settings.per_host = start.options().per_host();
  settings.timeout = milliseconds(start.options().timeout_ms());
  settings.last_committed_seq = start.last_committed_seq();
  settings.memory_limit_bytes = config.memory_limit_bytes;
  settings.limits = config.limits;
  return settings;
}

}  // namespace

Task<absl::StatusOr<std::shared_ptr<ActiveRun>>> ActiveRun::Begin(const AgentConfig& config,
                                                                  const Clock& clock,
                                                                  v1::Start start,
                                                                  TargetLaunch launch) {
  TargetCommand command = std::move(launch.command);
  auto run = std::make_shared<ActiveRun>(config, clock, start, std::move(launch));
  absl::Status started = co_await run->process_->Start(std::move(command), run->executor_);
  if (!started.ok()) co_return started;
  run->usage_at_start_ = ReadOwnUsage();  // making a container is not measuring
  co_return run;
}

ActiveRun::ActiveRun(const AgentConfig& config, const Clock& clock, const v1::Start& start,
                     TargetLaunch launch)
    : config_(config),
      clock_(clock),
      id_(start.run_id()),
      agent_(start.agent()),
      since_us_(clock.WallUs()),
      facts_(std::move(launch.facts)),
      container_(std::move(launch.container)),
      orphan_timeout_(start.orphan_timeout_ms() == 0 ? config.orphan_timeout
                                                     : milliseconds(start.orphan_timeout_ms())),
      progress_interval_(ProgressInterval(start)),
      usage_at_start_(ReadOwnUsage()),
      cpu_(config.target_cpus),
      executor_(Settings(config, start), *launch.process, clock, [this] { Notify(); }),
      process_(std::move(launch.process)),
      detached_since_(clock.Now()),
      progress_due_(clock.Now() + progress_interval_) {}

void ActiveRun::Attach(const std::shared_ptr<RunListener>& listener, uint64_t last_committed_seq,
                       bool resumed, const v1::MemoryTrouble* trouble) {
  Displace(absl::AbortedError("another stream took run " + id_ + " over"));
  listener_ = listener;
  attached_ = listener.get();
  started_due_ = true;
  resumed_ = resumed;
  trouble_ = trouble == nullptr ? std::nullopt : std::optional(*trouble);
  final_sent_ = false;
  executor_.Attach(last_committed_seq);
}

void ActiveRun::Detach(const RunListener* listener) {
  if (attached_ != listener || attached_ == nullptr) return;
  attached_ = nullptr;
  listener_.reset();
  detached_since_ = clock_.Now();
}

void ActiveRun::Displace(absl::Status status) {
  const std::shared_ptr<RunListener> before = listener_.lock();
  Detach(attached_);
  if (before) before->OnDisplaced(std::move(status));
}

void ActiveRun::Notify() {
  if (const auto listener = listener_.lock()) listener->OnNews();
}

std::optional<v1::AgentMessage> ActiveRun::Next() {
  if (std::exchange(started_due_, false)) return MakeStarted();
  if (clock_.Now() >= progress_due_) return MakeProgress();
  v1::AgentMessage message;
  if (const CreditGrant grant = executor_.TakeCredit(); grant.urls > 0 || grant.bytes > 0) {
    message.mutable_credit()->set_urls(grant.urls);
    message.mutable_credit()->set_bytes(grant.bytes);
    return message;
  }
  if (const v1::Batch* batch = executor_.NextBatch(); batch != nullptr) {
    *message.mutable_batch() = *batch;
    return message;
  }
  std::optional<v1::AgentMessage> final = Final();
  if (!final || std::exchange(final_sent_, true)) return std::nullopt;
  return final;
}

std::optional<v1::AgentMessage> ActiveRun::Final() const {
  std::optional<v1::AgentMessage> final = executor_.Final();
  if (!final) return std::nullopt;
  const uint64_t cpu_us = ReadOwnUsage().cpu_us - usage_at_start_.cpu_us;
  if (final->has_finished()) {
    final->mutable_finished()->set_agent_cpu_us(cpu_us);
  } else {
    final->mutable_failed()->mutable_totals()->set_agent_cpu_us(cpu_us);
  }
  return final;
}

v1::AgentMessage ActiveRun::MakeStarted() {
  v1::AgentMessage message;
  v1::Started& started = *message.mutable_started();
  *started.mutable_host() = config_.host;
  started.mutable_host()->set_clock_us(executor_.WallUs());
  *started.mutable_target() = facts_;
  if (container_) *started.mutable_container() = *container_;
  started.set_cost_basis(process_->CostBasis());
  started.set_resumed(resumed_);
  if (trouble_) *started.mutable_memory_trouble() = *trouble_;
  if (resumed_) {
    for (const uint64_t id : executor_.HeldLeases()) started.add_held_lease_ids(id);
  }
  return message;
}

v1::AgentMessage ActiveRun::MakeProgress() {
  progress_due_ = clock_.Now() + progress_interval_;
  told_usage_ = true;
  v1::AgentMessage message;
  v1::Progress& progress = *message.mutable_progress();
  executor_.FillProgress(progress);
  last_usage_ = progress.target();
  const OwnUsage own = ReadOwnUsage();
  progress.set_agent_cpu_us(own.cpu_us - usage_at_start_.cpu_us);
  progress.set_agent_rss_bytes(own.rss_bytes);
  const CpuLoad load = cpu_.Sample();
  progress.set_other_cpu_busy_permille(load.other_busy);
  progress.set_target_cpu_busy_permille(load.target_busy);
  progress.set_steal_permille(load.steal);
  progress.set_clock_us(executor_.WallUs());
  return message;
}

RunCounts ActiveRun::counts() const {
  RunCounts counts;
  counts.records = executor_.tally();
  counts.urls_started = executor_.urls_started();
  counts.stalled = executor_.stalled();
  counts.target_user_us = last_usage_.user_us();
  counts.target_system_us = last_usage_.system_us();
  if (const std::optional<TargetExit>& exit = executor_.exit()) {
    counts.target_user_us = exit->usage.user_us;
    counts.target_system_us = exit->usage.system_us;
  }
  return counts;
}

void ActiveRun::Tick() { executor_.Tick(); }

bool ActiveRun::orphaned() const {
  const milliseconds patience = executor_.untouched()
                                    ? std::min(orphan_timeout_, config_.untouched_timeout)
                                    : orphan_timeout_;
  return attached_ == nullptr && clock_.Now() - detached_since_ > patience;
}

}  // namespace fetchbench::agent
