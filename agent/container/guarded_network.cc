#include "agent/container/guarded_network.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <random>
#include <utility>

#include "agent/container/entry/paths.h"
#include "common/docker/owner.h"
#include "common/docker/sha256.h"
#include "common/docker/tar_writer.h"
#include "common/files.h"

namespace fetchbench::agent {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kPoll{50};
// Of subnets, when others have taken the ones before.
constexpr int kTries = 16;
constexpr std::chrono::seconds kProbePatience{20};
constexpr std::chrono::seconds kRemovePatience{5};
constexpr int64_t kProbeMemoryBytes = 64 << 20;
constexpr int kProbeProcesses = 8;
constexpr size_t kTagDigits = 16;
constexpr const char* kProbeRepository = "fetchbench/guard-probe";
constexpr const char* kProbeProgram = "probe";

absl::Status NotInForce(std::string_view why) {
  return absl::FailedPreconditionError(fmt::format(
      "the network rules of fetchbench-guard are not in force on this host ({}): without them a "
      "container could reach private addresses and the host itself. Start them as root: "
      "`systemctl start fetchbench-guard`, or `deploy/guard/fetchbench-guard apply`",
      why));
}

json::object OwnerLabels(const std::string& owner) {
  return {{std::string(docker::kOwnerLabel), owner}};
}

// IPv4 only, and nobody there but the host's end: other containers are not to be reached either.
json::object NetworkConfig(const std::string& owner, const std::string& bridge,
                           const std::string& subnet, const std::string& gateway) {
  json::object config{{"Driver", "bridge"}, {"CheckDuplicate", true}, {"EnableIPv6", false}};
  config["Labels"] = OwnerLabels(owner);
  config["Options"] = json::object{{"com.docker.network.bridge.name", bridge},
                                   {"com.docker.network.bridge.enable_icc", "false"}};
  config["IPAM"] =
      json::object{{"Config", json::array{json::object{{"Subnet", subnet}, {"Gateway", gateway}}}}};
  return config;
}

json::object ProbeConfig(const std::string& owner, const std::string& image,
                         const std::string& network, const std::string& gateway) {
  json::object host{{"NetworkMode", network},
                    {"CapDrop", json::array{"ALL"}},
                    {"SecurityOpt", json::array{"no-new-privileges"}},
                    {"ReadonlyRootfs", true},
                    {"Memory", kProbeMemoryBytes},
                    {"PidsLimit", kProbeProcesses},
                    {"LogConfig", json::object{{"Type", "none"}}}};
  return {{"Image", image},
          {"Entrypoint", json::array{fmt::format("/{}", kProbeProgram)}},
          {"Cmd", json::array{kEntryProbeWord, gateway, fmt::format("{}", kGuardProbePort)}},
          {"User", "65534:65534"},
          {"Labels", OwnerLabels(owner)},
          {"HostConfig", std::move(host)}};
}

absl::StatusOr<std::string> ProbeRoot(const std::string& program) {
  const std::string bytes = ReadWholeFile(program);
  if (bytes.empty()) return absl::NotFoundError(fmt::format("{} cannot be read", program));
  return docker::TarOfFile(kProbeProgram, bytes, true);
}

}  // namespace

GuardedNetwork::GuardedNetwork(std::shared_ptr<ContainerHost> host, std::string state_file,
                               GuardedReach reach)
    : host_(std::move(host)), state_file_(std::move(state_file)), reach_(reach) {}

bool GuardedNetwork::expected() const { return access(state_file_.c_str(), F_OK) == 0; }

absl::Status GuardedNetwork::LetsReach(std::string_view address) const {
  absl::StatusOr<GuardState> state = ReadGuardState(state_file_);
  if (!state.ok()) return NotInForce(std::string(state.status().message()));
  if (NamesOrigin(*state, address)) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "fetchbench-guard on this host does not know of a simulated web at {}: add the address, "
      "and those of its hosts that refuse or never accept, to FETCHBENCH_GUARD_ORIGINS in "
      "/etc/default/fetchbench-guard, then `systemctl reload fetchbench-guard`",
      address));
}

Task<absl::StatusOr<std::string>> GuardedNetwork::Ready(std::shared_ptr<GuardedNetwork> self) {
  net::steady_timer timer(self->host_->loop());
  while (self->busy_) {
    timer.expires_after(kPoll);
    co_await timer.async_wait(kAsTuple);
  }
  self->busy_ = true;
  absl::StatusOr<std::string> name = co_await self->CheckedName();
  self->busy_ = false;
  co_return name;
}

Task<absl::StatusOr<std::string>> GuardedNetwork::CheckedName() {
  absl::StatusOr<GuardState> state = ReadGuardState(state_file_);
  if (!state.ok()) co_return NotInForce(std::string(state.status().message()));
  absl::StatusOr<docker::NetworkInfo> network = co_await Network(*std::move(state));
  if (!network.ok()) co_return network.status();
  absl::Status guarded = co_await Probe(network->name, network->gateway);
  if (!guarded.ok()) co_return guarded;
  co_return network->name;
}

// The one from before, unless somebody removed it or the guard's settings have changed.
Task<absl::StatusOr<docker::NetworkInfo>> GuardedNetwork::Network(GuardState state) {
  if (!name_.empty() && bridges_ == state.bridges) {
    absl::StatusOr<docker::NetworkInfo> known = co_await host_->client().InspectNetwork(name_);
    if (!absl::IsNotFound(known.status())) co_return known;
  }
  co_return co_await MakeNetwork(std::move(state));
}

Task<absl::StatusOr<docker::NetworkInfo>> GuardedNetwork::MakeNetwork(GuardState state) {
  const uint32_t networks = GuardedNetworks(state);
  std::random_device random;
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    const uint32_t n = random() % networks;
    const bool origin = reach_ == GuardedReach::kOrigin;
    // Which rules hold goes by this name.
    const std::string bridge = fmt::format("{}{}{:05x}", state.bridges, origin ? "o" : "", n);
    const std::string name = fmt::format("fetchbench-{}-{}", origin ? "origin" : "public", bridge);
    json::object config =
        NetworkConfig(host_->owner(), bridge, GuardedSubnet(state, n), GuardedGateway(state, n));
    absl::StatusOr<std::string> id =
        co_await host_->client().CreateNetwork(name, std::move(config));
    last = id.status();
    if (absl::IsUnavailable(last)) break;
    if (!id.ok()) continue;  // taken by another agent, most often
    name_ = name;
    bridges_ = state.bridges;
    co_return co_await host_->client().InspectNetwork(name_);
  }
  co_return last;
}

Task<absl::StatusOr<std::string>> GuardedNetwork::ProbeImage() {
  if (!probe_image_.empty()) {
    const absl::StatusOr<docker::ImageInfo> known =
        co_await host_->client().InspectImage(probe_image_);
    if (known.ok()) co_return probe_image_;
  }
  absl::StatusOr<std::string> root = ProbeRoot(host_->entry_program());
  if (!root.ok()) co_return root.status();
  const std::string tag = docker::Sha256Hex(*root).substr(0, kTagDigits);
  const std::string reference = fmt::format("{}:{}", kProbeRepository, tag);
  absl::StatusOr<docker::ImageInfo> image = co_await host_->client().InspectImage(reference);
  if (absl::IsNotFound(image.status())) {
    std::vector<std::string> changes;
    const absl::StatusOr<std::string> made = co_await host_->client().ImportImage(
        docker::BodyFromString(*std::move(root)), kProbeRepository, tag, std::move(changes));
    if (!made.ok()) co_return made.status();
    image = co_await host_->client().InspectImage(reference);
  }
  if (!image.ok()) co_return image.status();
  probe_image_ = image->id;
  co_return probe_image_;
}

Task<absl::Status> GuardedNetwork::Probe(std::string network, std::string gateway) {
  absl::StatusOr<std::string> image = co_await ProbeImage();
  if (!image.ok()) co_return image.status();
  docker::EngineClient& client = host_->client();
  const std::string name =
      fmt::format("fetchbench-probe-{}-{}", host_->owner(), host_->NextNumber());
  absl::StatusOr<std::string> id =
      co_await client.CreateContainer(name, ProbeConfig(host_->owner(), *image, network, gateway));
  absl::Status status = id.status();
  if (status.ok()) status = co_await client.StartContainer(*id);
  int code = 0;
  if (status.ok()) {
    const absl::StatusOr<int> ended = co_await client.WaitContainer(*id, kProbePatience);
    status = ended.status();
    if (ended.ok()) code = *ended;
  }
  const absl::Status removed = co_await client.RemoveContainer(name);
  if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
  if (!status.ok() || code == 0) co_return status;
  co_return NotInForce(fmt::format("{} says they are, but a probe in the network {} got past them",
                                   state_file_, network));
}

Task<> GuardedNetwork::Remove(std::shared_ptr<GuardedNetwork> self) {
  if (self->name_.empty()) co_return;
  const std::string name = std::exchange(self->name_, {});
  const SteadyTime limit = std::chrono::steady_clock::now() + kRemovePatience;
  net::steady_timer timer(self->host_->loop());
  absl::Status removed = co_await self->host_->client().RemoveNetwork(name);
  while (!removed.ok() && std::chrono::steady_clock::now() < limit) {
    timer.expires_after(kPoll);
    co_await timer.async_wait(kAsTuple);
    removed = co_await self->host_->client().RemoveNetwork(name);
  }
  if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
}

}  // namespace fetchbench::agent
