#include "agent/container/image_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "agent/container/container_process.h"
#include "agent/target_facts.h"
#include "common/docker/old_images.h"
#include "common/docker/tar_writer.h"

namespace fetchbench::agent {
namespace {

constexpr const char* kKeyLabel = "fetchbench.image-key";
constexpr std::chrono::milliseconds kHoldPoll{100};
constexpr size_t kMaxReferenceBytes = 512;

absl::Status CheckReference(const std::string& reference) {
  const bool odd = reference.find_first_not_of(
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") !=
                   std::string::npos;
  if (reference.empty() || reference.size() > kMaxReferenceBytes || odd) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no reference of an image", reference.substr(0, kMaxReferenceBytes)));
  }
  return absl::OkStatus();
}

// What a Dockerfile's `ENTRYPOINT program` becomes.
bool IsShellForm(const std::vector<std::string>& entrypoint) {
  return entrypoint.size() == 3 && entrypoint[0] == "/bin/sh" && entrypoint[1] == "-c";
}

// What lib/CONTRACT.md asks of a description.
absl::Status CheckFacts(const v1::TargetFacts& facts, const std::string& what) {
  const char* missing = nullptr;
  if (facts.runtime().empty()) missing = "runtime";
  if (facts.name().empty()) missing = "name";
  if (missing == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: the member '{}' is not there, or no text", what, missing));
}

bool HasKey(const docker::ImageInfo& image, const ImageKey& key) {
  const auto label = image.labels.find(kKeyLabel);
  return label != image.labels.end() && label->second == key.digest;
}

std::string CacheKey(const docker::ImageInfo& image, const std::string& target) {
  return fmt::format("{} {}", image.id, target);
}

}  // namespace

ImageStore::ImageStore(std::shared_ptr<ContainerHost> host,
                       std::shared_ptr<GuardedNetwork> public_network, Settings settings)
    : host_(std::move(host)),
      public_network_(std::move(public_network)),
      settings_(std::move(settings)) {}

docker::EngineClient ImageStore::MakeBuilder() const {
  docker::EngineDeadlines deadlines;
  deadlines.build = settings_.build.time;
  return docker::EngineClient(host_->loop(), host_->client().socket_path(), deadlines);
}

Task<absl::StatusOr<docker::ImageInfo>> ImageStore::Find(v1::TargetSpec target) {
  if (!target.image().empty()) {
    if (absl::Status s = CheckReference(target.image()); !s.ok()) co_return s;
    co_return co_await host_->client().InspectImage(target.image());
  }
  absl::StatusOr<ImageKey> key = KeyOf(target);
  if (!key.ok()) co_return key.status();
  absl::StatusOr<docker::ImageInfo> image = co_await host_->client().InspectImage(key->Reference());
  if (!image.ok()) co_return image.status();
  // The tag is short, and anybody can set one.
  if (!HasKey(*image, *key)) {
    co_return absl::NotFoundError(
        fmt::format("image {} was made of something else", key->Reference()));
  }
  co_return co_await Kept(*std::move(image), *std::move(key));
}

Task<absl::StatusOr<docker::ImageInfo>> ImageStore::Kept(docker::ImageInfo image, ImageKey key) {
  const std::string reference = key.Reference();
  if (std::find(image.tags.begin(), image.tags.end(), reference) != image.tags.end()) {
    absl::Status tagged = co_await host_->client().TagImage(image.id, key.repository, key.tag);
    if (!tagged.ok()) co_return tagged;
  }
  co_return image;
}

Task<absl::Status> ImageStore::Hold(std::string reference, std::function<bool()> stopping) {
  net::steady_timer timer(host_->loop());
  if (held_.size() >= kMaxBuilds && !held_.contains(reference)) {
    co_return absl::ResourceExhaustedError(
        fmt::format("{} images are being built already: try again later", held_.size()));
  }
  while (!held_.insert(reference).second) {
    if (stopping()) co_return absl::CancelledError("given up while another build goes on");
    timer.expires_after(kHoldPoll);
    co_await timer.async_wait(kAsTuple);
  }
  co_return absl::OkStatus();
}

void ImageStore::Release(const std::string& reference) { held_.erase(reference); }

Task<absl::StatusOr<std::string>> ImageStore::BuildNetwork(
    docker::EngineClient::TextSink progress) {
  const BuildSettings& build = settings_.build;
  if (!build.network.empty()) co_return build.network;
  if (build.require_guard || public_network_->expected()) {
    co_return co_await GuardedNetwork::Ready(public_network_);
  }
  progress("fetchbench-guard is not in force here: the build may reach private addresses");
  co_return std::string();
}

// A label can only be set by a build. This one has a single step, which runs nothing and adds no
// layer.
Task<absl::StatusOr<std::string>> ImageStore::WithBases(docker::EngineClient builder,
                                                        std::string name, std::string id,
                                                        std::vector<BaseSeen> seen) {
  std::vector<v1::BaseImage> bases;
  for (const BaseSeen& base : seen) {
    const absl::StatusOr<docker::ImageInfo> image = co_await builder.InspectImage(base.id);
    if (!image.ok()) co_return image.status();
    bases.push_back(BaseImageOf(base.reference, *image));
  }
  if (bases.empty()) co_return id;
  absl::StatusOr<std::string> context = docker::TarOfFile("Dockerfile", "FROM " + id + "\n", false);
  if (!context.ok()) co_return context.status();
  docker::BuildRequest request;
  request.name = name + ", its labels";
  request.context = docker::BodyFromString(*std::move(context));
  request.labels = BaseImageLabels(bases);
  docker::EngineClient::TextSink nobody = [](std::string_view) {};
  co_return co_await builder.BuildImage(std::move(request), std::move(nobody));
}

Task<absl::Status> ImageStore::Build(v1::TargetSpec target, docker::BodySource context,
                                     docker::EngineClient builder,
                                     docker::EngineClient::TextSink progress) {
  absl::StatusOr<ImageKey> key = KeyOf(target);
  if (!key.ok()) co_return key.status();
  docker::BuildRequest request;
  request.name = "target " + target.name();
  request.context = std::move(context);
  request.build_args.insert(target.build_args().begin(), target.build_args().end());
  request.labels = {{kKeyLabel, key->digest}, {"fetchbench.target", target.name()}};
  absl::StatusOr<std::string> network = co_await BuildNetwork(progress);
  if (!network.ok()) {
    co_return absl::Status(
        network.status().code(),
        fmt::format("building {}: {}", request.name, std::string(network.status().message())));
  }
  request.network_mode = *std::move(network);
  request.limits = settings_.build.limits;
  BaseImageReader bases(request.build_args);
  std::string name = request.name;
  docker::EngineClient::TextSink sink = [&bases, &progress](std::string_view line) {
    bases.OnLine(line);
    progress(line);
  };
  absl::StatusOr<std::string> id = co_await builder.BuildImage(std::move(request), std::move(sink));
  if (absl::IsDeadlineExceeded(id.status())) {
    co_return absl::DeadlineExceededError(
        fmt::format("building {} took longer than {} s, the agent's --build-timeout", name,
                    std::chrono::duration<double>(settings_.build.time).count()));
  }
  if (id.ok()) id = co_await WithBases(builder, std::move(name), *std::move(id), bases.seen());
  if (!id.ok()) co_return id.status();
  absl::Status tagged = co_await builder.TagImage(*id, key->repository, key->tag);
  if (tagged.ok()) {
    co_await docker::RemoveSupersededImages(builder, key->repository, key->Reference(),
                                            docker::WallNow());
  }
  co_return tagged;
}

Task<absl::StatusOr<docker::ImageInfo>> ImageStore::FindExactly(v1::TargetSpec target,
                                                                std::string id) {
  absl::StatusOr<ImageKey> key = KeyOf(target);
  if (!key.ok()) co_return key.status();
  absl::StatusOr<docker::ImageInfo> image = co_await host_->client().InspectImage(id);
  if (image.ok() && (image->id != id || !HasKey(*image, *key))) {
    co_return absl::FailedPreconditionError(
        fmt::format("image {} is not one of target {} as it is now", id, target.name()));
  }
  if (!image.ok()) co_return image.status();
  co_return co_await Kept(*std::move(image), *std::move(key));
}

Task<absl::Status> ImageStore::Adopt(v1::TargetSpec target, std::string id) {
  absl::StatusOr<ImageKey> key = KeyOf(target);
  if (!key.ok()) co_return key.status();
  docker::EngineClient client = host_->client();
  absl::StatusOr<docker::ImageInfo> image = co_await FindExactly(std::move(target), id);
  if (!image.ok()) co_return image.status();
  std::string reference = key->Reference();
  if (std::find(image->tags.begin(), image->tags.end(), reference) != image->tags.end()) {
    co_return absl::OkStatus();
  }
  absl::StatusOr<docker::ImageInfo> before = co_await client.InspectImage(reference);
  absl::Status tagged = co_await client.TagImage(id, key->repository, key->tag);
  if (!tagged.ok()) co_return tagged;
  if (before.ok()) co_await RemoveLoaded(client, std::vector<std::string>(1, before->id));
  co_await docker::RemoveSupersededImages(client, key->repository, std::move(reference),
                                          docker::WallNow());
  co_return absl::OkStatus();
}

Task<absl::Status> ImageStore::Load(v1::TargetSpec target, std::string id,
                                    docker::BodySource archive, docker::EngineClient loader) {
  absl::StatusOr<std::vector<std::string>> loaded = co_await loader.LoadImages(std::move(archive));
  if (!loaded.ok()) co_return loaded.status();
  absl::Status good = absl::OkStatus();
  if (*loaded != std::vector<std::string>(1, id)) {
    good = absl::FailedPreconditionError(
        fmt::format("the archive that came for image {} held {}: it is not taken", id,
                    loaded->empty() ? "no image" : fmt::format("{}", fmt::join(*loaded, ", "))));
  } else {
    good = co_await Adopt(std::move(target), id);
  }
  if (!good.ok()) co_await RemoveLoaded(host_->client(), *std::move(loaded));
  co_return good;
}

Task<> ImageStore::RemoveLoaded(docker::EngineClient client, std::vector<std::string> loaded) {
  for (const std::string& name : loaded) {
    const absl::StatusOr<docker::ImageInfo> image = co_await client.InspectImage(name);
    // An id may be that of an image that was here before, and then somebody's tag is on it.
    const bool ours = image.ok() && (name != image->id || image->tags.empty());
    if (!ours) continue;
    const absl::Status removed = co_await client.RemoveImage(name);
    if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
  }
}

Task<absl::StatusOr<v1::TargetFacts>> ImageStore::Facts(v1::TargetSpec target,
                                                        docker::ImageInfo image,
                                                        v1::ContainerOptions limits,
                                                        std::function<bool()> stopping) {
  const std::string cache_key = CacheKey(image, target.name());
  if (const auto known = facts_.find(cache_key); known != facts_.end()) co_return known->second;
  ContainerSpec spec;
  spec.target_name = target.name();
  SetImage(image, spec);
  const bool shell_form = IsShellForm(spec.entrypoint);
  spec.limits = std::move(limits);
  spec.limits.set_network_mode("none");
  auto process = std::make_unique<ContainerProcess>(host_, std::move(spec));
  TargetCommand command;
  command.argv = {"", "--describe"};
  const std::string what = fmt::format("target {} --describe", target.name());
  absl::StatusOr<v1::TargetFacts> facts =
      co_await DescribeTarget(host_->loop(), std::move(process), std::move(command), what,
                              settings_.describe_patience, std::move(stopping));
  absl::Status described = facts.ok() ? CheckFacts(*facts, what) : facts.status();
  if (!described.ok() && shell_form) {
    described = absl::Status(
        described.code(),
        fmt::format("{} (its ENTRYPOINT is a shell's command, which gets no arguments: write it as "
                    "a list, [\"/program\"])",
                    std::string(described.message())));
  }
  if (!described.ok()) co_return described;
  facts->set_image_digest(image.id);
  facts->clear_base_images();
  for (v1::BaseImage& base : BaseImagesOf(image.labels)) {
    *facts->add_base_images() = std::move(base);
  }
  if (facts_.size() >= kMaxKnownFacts) facts_.clear();
  facts_[cache_key] = *facts;
  co_return facts;
}

bool ImageStore::IsDescribed(const docker::ImageInfo& image, const std::string& target) const {
  return facts_.contains(CacheKey(image, target));
}

std::vector<std::string> ImageStore::Described() const {
  absl::flat_hash_set<std::string> names;
  for (const auto& [key, facts] : facts_) names.insert(key.substr(key.find(' ') + 1));
  return {names.begin(), names.end()};
}

}  // namespace fetchbench::agent
