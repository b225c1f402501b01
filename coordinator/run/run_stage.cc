#include "coordinator/run/run_stage.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "common/all_of.h"
#include "coordinator/fleet/describe_agents.h"
#include "coordinator/fleet/same_agent.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/run/run_log.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kStopLimit{2000};
constexpr std::chrono::milliseconds kHurriedStopLimit{200};
// An agent removes its container, for which the Engine takes its time.
constexpr std::chrono::milliseconds kRemoveLimit{1500};

void SetImageIds(const std::map<std::string, std::string>& ids, v1::Start& start) {
  start.clear_image_ids();
  for (const auto& [architecture, id] : ids) (*start.mutable_image_ids())[architecture] = id;
}

// For agents that have been waited for already.
constexpr std::chrono::milliseconds kSecondConnect{1000};

absl::Status Changed(const std::string& difference) {
  return absl::InvalidArgumentError(
      fmt::format("the run can go on only with what it was begun with, but {}", difference));
}

Task<> ReleaseOne(net::any_io_executor loop, AgentEndpoint agent, std::string run_id,
                  std::chrono::milliseconds answer, std::function<bool()> stopped) {
  const ReleaseLimits limits{.answer = answer};
  const absl::Status released = co_await ReleaseFromRun(std::move(loop), agent, std::move(run_id),
                                                        limits, std::move(stopped));
  // One that is out of reach now is released when it comes; one busy with another run says so
  // itself.
  if (!released.ok()) spdlog::info("agent {}: {}", agent.shown(), std::string(released.message()));
}

}  // namespace

RunStage::RunStage(net::any_io_executor loop, const RunOptions& options,
                   const RunIdentity& identity, const ResumeState* before, Events events)
    : loop_(std::move(loop)),
      options_(options),
      identity_(identity),
      before_(before),
      events_(std::move(events)),
      agents_(options.agents),
      fleet_facts_(before, !options.image.empty()) {}

Task<absl::Status> RunStage::SetUp() {
  absl::Status status = co_await StartAgents();
  if (status.ok()) status = co_await CheckAgents();
  if (status.ok() && before_ != nullptr) co_await ReleaseAgents();
  const bool web_first = options_.web == Web::kSim && !options_.target.is_container();
  if (status.ok() && web_first) status = co_await StartWeb();
  if (status.ok()) status = co_await Prepare();
  // After the target: a build may take long, and the origin's images come out of the same Engine.
  const bool web_last = options_.web == Web::kSim && options_.target.is_container();
  if (status.ok() && web_last) status = co_await StartWeb();
  co_return status;
}

Task<absl::Status> RunStage::StartAgents() {
  if (agents_.empty()) {
    placement_ = Place(AllowedCpus());
    PinThisThread(placement_.others);
    auto agent = co_await StartLocalAgent(loop_, placement_, options_, events_.interrupted);
    if (!agent.ok()) co_return agent.status();
    local_agent_.emplace(*std::move(agent));
    agents_ = {{.address = local_agent_->address(), .name = "local"}};
  }
  reached_.assign(agents_.size(), false);
  refused_.assign(agents_.size(), absl::OkStatus());
  co_return absl::OkStatus();
}

// Waits for the agents as long as they may take to come; those that stay away are tried once more
// when the target is prepared.
Task<absl::Status> RunStage::CheckAgents() {
  if (local_agent_) co_return absl::OkStatus();  // it came with this program
  const DescribeLimits limits{.answer = options_.connect_timeout, .until_there = true};
  const std::vector<Described> described =
      co_await DescribeAll(loop_, agents_, limits, events_.stopped);
  for (const Described& agent : described) answered_.push_back(agent.ok());
  absl::Status fit = CheckVersions(agents_, described, FETCHBENCH_VERSION);
  // A run that has begun keeps its agents, whoever they are: one that is there twice refuses one of
  // the two sessions itself.
  const bool has_begun = before_ != nullptr && !before_->target.name().empty();
  if (fit.ok() && !has_begun) fit = CheckDistinct(agents_, described);
  co_return fit;
}

// All agents at once: what an earlier session left with them would make them refuse this one. One
// that has just been waited for in vain is released when it comes.
Task<> RunStage::ReleaseAgents() {
  std::vector<Task<>> tasks;
  for (size_t i = 0; i < answered_.size(); ++i) {
    if (!answered_[i]) continue;
    tasks.push_back(
        ReleaseOne(loop_, agents_[i], identity_.run_id, options_.connect_timeout, events_.stopped));
  }
  co_await AllOf(loop_, std::move(tasks));
}

Task<absl::Status> RunStage::StartWeb() {
  auto web = co_await SetUpWeb(loop_, options_, placement_, identity_.run_id, identity_.folder,
                               events_.interrupted);
  origin_away_ = !options_.origin.empty() && absl::IsUnavailable(web.status());
  if (!web.ok()) co_return web.status();
  web_ = *std::move(web);
  if (before_ == nullptr || before_->profile_sha256.empty()) co_return absl::OkStatus();
  if (web_->config.seed != before_->options.seed) {
    co_return Changed(fmt::format("the seed of the simulated web was {}, is {}",
                                  before_->options.seed, web_->config.seed));
  }
  if (web_->config.profile_sha256 != before_->profile_sha256) {
    co_return Changed(fmt::format("the digest of the simulated web's profile {} was {}, is {}",
                                  web_->config.profile, before_->profile_sha256,
                                  web_->config.profile_sha256));
  }
  co_return absl::OkStatus();
}

// One agent that is ready is enough: the others are told of, and counted as lost.
Task<absl::Status> RunStage::Prepare() {
  auto plan = co_await PlanTarget(loop_, options_);
  if (!plan.ok()) co_return plan.status();
  target_ = plan->spec;
  if (before_ != nullptr && !before_->target.name().empty()) {
    const std::string difference = DifferenceOf(before_->target, target_);
    if (!difference.empty()) co_return Changed(difference);
  }
  preparing_.clear();
  for (const AgentEndpoint& agent : agents_) preparing_.emplace_back().name = agent.shown();
  FleetCall call{loop_, agents_, *std::move(plan), identity_.folder, {}, {}};
  call.limits.connect = local_agent_ ? options_.connect_timeout : kSecondConnect;
  call.events.progress = [this](size_t i, const v1::PrepareProgress& p) { ShowPrepare(i, p); };
  call.events.stopped = events_.stopped;
  if (before_ != nullptr) call.earlier_ids = before_->image_ids;
  FleetPrepared prepared = co_await PrepareFleet(call);
  if (!prepared.one_image.ok()) co_return prepared.one_image;
  if (absl::Status s = CheckSameImages(prepared.images); !s.ok()) co_return s;
  images_ = std::make_unique<FleetImages>(std::move(call), std::move(prepared.images));
  co_return JudgePrepared(prepared.agents);
}

// What was named must be what it was, to the digest. What was built of the same folder is said, and
// its bases and what it tells of itself are compared (FleetFacts).
absl::Status RunStage::CheckSameImages(const std::map<std::string, FleetImage>& images) const {
  if (before_ == nullptr) return absl::OkStatus();
  for (const auto& [architecture, image] : images) {
    const auto then = before_->image_ids.find(architecture);
    if (then == before_->image_ids.end() || then->second == image.id) continue;
    const std::string what =
        fmt::format("the image of {} for {} was {}, is {}", options_.target.name, architecture,
                    then->second, image.id);
    if (!options_.image.empty()) return Changed(what);
    spdlog::warn(
        "{}: no agent has the old one any more; this one was built of the same folder with the "
        "same arguments",
        what);
  }
  return absl::OkStatus();
}

v1::Start RunStage::StartOf(const std::string& session_id) const {
  v1::Start start = MakeStart(session_id, options_, target_, web());
  SetImageIds(image_ids(), start);
  return start;
}

std::map<std::string, std::string> RunStage::image_ids() const {
  return images_ ? images_->Ids() : std::map<std::string, std::string>();
}

Task<absl::Status> RunStage::MakeReadyAgain(size_t agent, absl::Status refused, v1::Start& start) {
  if (!images_) co_return refused;
  absl::Status ready = co_await images_->MakeReadyAgain(agent, std::move(refused));
  SetImageIds(image_ids(), start);
  co_return ready;
}

absl::Status RunStage::Admit(size_t agent, const v1::Started& started) {
  if (images_) images_->Started(agent);
  return fleet_facts_.Started(agents_[agent].shown(), started.host().architecture(),
                              started.target());
}

absl::Status RunStage::JudgePrepared(const std::vector<absl::StatusOr<v1::TargetFacts>>& results) {
  absl::Status failure = absl::OkStatus();
  std::string troubles;
  for (size_t i = 0; i < results.size(); ++i) {
    const absl::Status& status = results[i].status();
    refused_[i] = status;
    reached_[i] = !absl::IsUnavailable(status);
    if (status.ok()) {
      const absl::Status same = fleet_facts_.Prepared(agents_[i].shown(), *results[i]);
      if (!same.ok()) return same;
      if (!facts_) facts_ = *results[i];
      continue;
    }
    if (results.size() > 1 && !absl::IsCancelled(status)) {
      spdlog::error("agent {}: {}", agents_[i].shown(), std::string(status.message()));
    }
    if (failure.ok()) failure = status;
    troubles += fmt::format("{}{}: {}", troubles.empty() ? "" : "; ", agents_[i].shown(),
                            std::string(status.message()));
  }
  if (facts_) return absl::OkStatus();
  if (absl::IsCancelled(failure)) return failure;
  return absl::Status(failure.code(), fmt::format("no agent could make target {} ready: {}",
                                                  options_.target.name, troubles));
}

void RunStage::ShowPrepare(size_t agent, const v1::PrepareProgress& progress) {
  AgentProgress& row = preparing_[agent];
  row.state = AgentState::kPreparing;
  row.note = progress.message();
  if (progress.send_context()) {
    events_.say(fmt::format("Building {} on {}; the first time takes minutes.",
                            options_.target.name, row.name));
    LogBuildBegins(row.name, options_.target.name);
  }
  if (progress.send_image()) {
    events_.say(fmt::format("Agent {} gets the image of {} from another one.", row.name,
                            options_.target.name));
    LogImageSent(row.name, options_.target.name);
  }
  if (progress.ready()) LogPrepared(row.name, options_.target.name, progress.facts());
  spdlog::debug("agent {}: {}", row.name, progress.message());
}

Task<absl::Status> RunStage::BeginRun(std::string session_id, LoadedList& list) {
  if (!web_ || events_.stopped()) co_return absl::OkStatus();
  if (!list.all_hosts) {
    spdlog::warn(
        "more than {} hosts: certificates of the others are issued when they are asked for, which "
        "costs the origin time",
        OriginClient::kMaxCertificates);
  }
  const absl::Status issued = co_await web_->client->IssueCertificates(list.hosts, events_.stopped);
  if (!issued.ok()) co_return issued;
  list.hosts = {};
  co_return co_await web_->client->BeginRun(session_id);
}

Task<std::optional<OriginSummary>> RunStage::AskOrigin(std::string session_id) {
  auto summary = co_await web_->client->RunStatistics(session_id);
  if (!summary.ok()) {
    origin_trouble_ = std::string(summary.status().message());
    if (const auto ended = web_->process ? web_->process->Ended() : std::nullopt) {
      origin_trouble_ = "it ended during the run, " + *ended;
    }
    spdlog::warn("no figures from the origin: {}", origin_trouble_);
    co_return std::nullopt;
  }
  co_return *std::move(summary);
}

void RunStage::PassOnLogs() {
  if (local_agent_) local_agent_->process().PassOnLog();
  if (web_ && web_->process) web_->process->PassOnLog();
}

std::optional<std::string> RunStage::LocalAgentEnd() {
  const auto ended = local_agent_ ? local_agent_->process().Ended() : std::nullopt;
  if (!ended) return std::nullopt;
  return fmt::format("the agent that was started here ended, {}", *ended);
}

Task<> RunStage::Stop(bool hurry) {
  if (images_) images_->Close();
  const std::chrono::milliseconds limit = hurry ? kHurriedStopLimit : kStopLimit;
  if (local_agent_) {
    local_agent_->process().Stop(options_.target.is_container() ? limit + kRemoveLimit : limit);
  }
  if (web_ && web_->process) web_->process->Stop(limit);
  local_agent_.reset();
  if (web_ && web_->container) co_await web_->container->Remove();
}

}  // namespace fetchbench::coordinator
