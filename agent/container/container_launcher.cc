#include "agent/container/container_launcher.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "agent/container/container_limits.h"
#include "agent/container/container_process.h"
#include "agent/container/wanted_image.h"
#include "agent/native_command.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

constexpr std::chrono::seconds kVersionLife{10};
constexpr std::chrono::milliseconds kVersionPatience{1'500};

// NotFound of an image is about this agent's state, not about the request.
absl::Status NotPrepared(const v1::TargetSpec& target, const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  return absl::FailedPreconditionError(
      target.image().empty()
          ? fmt::format("target {} is not prepared: its image is not on this host; call Prepare "
                        "first",
                        target.name())
          : fmt::format("target {}: {}", target.name(), std::string(status.message())));
}

}  // namespace

bool IsContainer(const v1::TargetSpec& target) {
  return target.name() != kNativeTarget &&
         (!target.image().empty() || !target.context_sha256().empty());
}

ContainerLauncher::ContainerLauncher(net::any_io_executor loop, const AgentConfig& config)
    : config_(config),
      host_(std::make_shared<ContainerHost>(std::move(loop), config.docker_socket,
                                            config.entry_path)),
      public_network_(
          std::make_shared<GuardedNetwork>(host_, config.guard_state, GuardedReach::kPublic)),
      origin_network_(
          std::make_shared<GuardedNetwork>(host_, config.guard_state, GuardedReach::kOrigin)),
      images_(host_, public_network_, {config.build, config.container_describe_patience}),
      version_client_(host_->loop(), config.docker_socket,
                      {kVersionPatience, kVersionPatience, kVersionPatience}),
      cleaning_client_(host_->loop(), config.docker_socket),
      version_told_(host_->loop(), SteadyTime::max()) {}

void ContainerLauncher::CleanUp() {
  if (config_.docker_socket.empty()) return;
  Spawn(host_->loop(), "container clean-up", RemoveLeftovers(cleaning_client_));
}

void ContainerLauncher::ShutDown() {
  Spawn(host_->loop(), "removal of a network", GuardedNetwork::Remove(public_network_));
  Spawn(host_->loop(), "removal of a network", GuardedNetwork::Remove(origin_network_));
  version_client_.CancelAll();
  cleaning_client_.CancelAll();
}

absl::StatusOr<v1::ContainerOptions> ContainerLauncher::Limits(
    const v1::ContainerOptions& wished) const {
  return ApplyLimits(wished, config_.target_cpus, config_.host.max_open_files());
}

absl::StatusOr<std::shared_ptr<GuardedNetwork>> ContainerLauncher::NetworkOfRun(
    const v1::FetchOptions& options, const std::string& network_mode) const {
  if (options.deny_private_addresses()) {
    if (network_mode == "none") return nullptr;
    if (network_mode == "bridge") return public_network_;
    return absl::InvalidArgumentError(
        fmt::format("deny_private_addresses: not possible with network_mode '{}', only with bridge",
                    network_mode));
  }
  if (options.origin().empty() || network_mode != "bridge") return nullptr;
  if (!origin_network_->expected() && !config_.build.require_guard) return nullptr;
  if (absl::Status known = origin_network_->LetsReach(options.origin()); !known.ok()) return known;
  return origin_network_;
}

Task<absl::StatusOr<v1::ContainerOptions>> ContainerLauncher::LimitsOfRun(v1::Start start) {
  absl::StatusOr<v1::ContainerOptions> limits = Limits(start.container());
  if (!limits.ok()) co_return limits;
  absl::StatusOr<std::shared_ptr<GuardedNetwork>> guarded =
      NetworkOfRun(start.options(), limits->network_mode());
  absl::StatusOr<std::string> network = limits->network_mode();
  if (!guarded.ok()) {
    network = guarded.status();
  } else if (*guarded != nullptr) {
    network = co_await GuardedNetwork::Ready(*guarded);
  }
  if (!network.ok()) {
    co_return absl::Status(network.status().code(),
                           fmt::format("target {}: {}", start.target().name(),
                                       std::string(network.status().message())));
  }
  limits->set_network_mode(*std::move(network));
  co_return limits;
}

Task<absl::StatusOr<v1::TargetFacts>> ContainerLauncher::Facts(v1::TargetSpec target,
                                                               absl::Status idle,
                                                               std::function<bool()> stopping) {
  absl::StatusOr<docker::ImageInfo> image = co_await images_.Find(target);
  if (!image.ok()) co_return NotPrepared(target, image.status());
  if (!idle.ok() && !images_.IsDescribed(*image, target.name())) co_return idle;
  absl::StatusOr<v1::ContainerOptions> limits = Limits(v1::ContainerOptions());
  if (!limits.ok()) co_return limits.status();
  co_return co_await images_.Facts(std::move(target), *std::move(image), *std::move(limits),
                                   std::move(stopping));
}

Task<absl::StatusOr<TargetLaunch>> ContainerLauncher::Launch(v1::Start start,
                                                             std::function<bool()> stopping) {
  absl::StatusOr<TargetCommand> command = ContainerCommand(start.options());
  if (!command.ok()) co_return command.status();
  absl::StatusOr<std::string> resolver = ResolverAddress(start.options().resolver());
  if (!resolver.ok()) co_return resolver.status();
  absl::StatusOr<docker::ImageInfo> image = co_await images_.Find(start.target());
  if (!image.ok()) co_return NotPrepared(start.target(), image.status());
  absl::Status same = CheckWantedImage(start, *image, config_.host.architecture());
  if (!same.ok()) co_return same;
  absl::StatusOr<v1::ContainerOptions> limits = co_await LimitsOfRun(start);
  if (!limits.ok()) co_return limits.status();
  absl::StatusOr<v1::TargetFacts> facts =
      co_await images_.Facts(start.target(), *image, *limits, std::move(stopping));
  TargetLaunch launch;
  if (facts.ok()) {
    launch.facts = *std::move(facts);
  } else {
    // What it is stays unknown.
    spdlog::warn("{}", std::string(facts.status().message()));
    launch.facts.set_name(start.target().name());
    launch.facts.set_image_digest(image->id);
  }
  ContainerSpec spec;
  spec.target_name = start.target().name();
  spec.run_id = start.run_id();
  SetImage(*image, spec);
  spec.limits = *limits;
  spec.resolver = *std::move(resolver);
  launch.process = std::make_unique<ContainerProcess>(host_, std::move(spec));
  launch.command = *std::move(command);
  launch.container = *std::move(limits);
  co_return launch;
}

Task<std::string> ContainerLauncher::EngineVersion() {
  if (config_.docker_socket.empty()) co_return version_;
  // Whoever asks meanwhile waits for the same answer.
  while (version_asked_) co_await version_told_.async_wait(kAsTuple);
  if (std::chrono::steady_clock::now() < version_until_) co_return version_;
  version_asked_ = true;
  absl::StatusOr<docker::EngineVersion> version = co_await version_client_.Version();
  version_ = version.ok() ? version->version : std::string();
  version_until_ = std::chrono::steady_clock::now() + kVersionLife;
  version_asked_ = false;
  version_told_.cancel();
  co_return version_;
}

}  // namespace fetchbench::agent
