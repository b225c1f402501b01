#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "agent/container/base_images.h"
#include "agent/container/build_settings.h"
#include "agent/container/container_host.h"
#include "agent/container/guarded_network.h"
#include "agent/container/image_key.h"
#include "common/docker/engine_client.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// The images of targets on this host's Engine. An image that was built here carries the whole
// digest of what it was made of as a label, and gets its tag last: whatever was interrupted is not
// found. On the loop.
class ImageStore {
 public:
  struct Settings {
    BuildSettings build;
    std::chrono::milliseconds describe_patience{60'000};
  };
  ImageStore(std::shared_ptr<ContainerHost> host, std::shared_ptr<GuardedNetwork> public_network,
             Settings settings);

  // The image of a target: its own, or the one that TargetSpec.image names. NotFound: it is not
  // there. InvalidArgument: such a target cannot be.
  Task<absl::StatusOr<docker::ImageInfo>> Find(v1::TargetSpec target);

  // One build of an image at a time: OK means that this caller holds it, until Release. Waits for
  // others; Cancelled when `stopping` says so. ResourceExhausted: kMaxBuilds go on already.
  Task<absl::Status> Hold(std::string reference, std::function<bool()> stopping);
  void Release(const std::string& reference);

  // Builds the image of `target` from `context`, labels it with what it was made of, bases
  // included, and tags it when it is whole. Older ones of this target are removed then
  // (common/docker/old_images.h).
  // `progress` gets the output line by line. The build ends when `builder` is cancelled
  // (CancelAll). FailedPrecondition: the rules for its network are not in force, though they
  // should be.
  Task<absl::Status> Build(v1::TargetSpec target, docker::BodySource context,
                           docker::EngineClient builder, docker::EngineClient::TextSink progress);

  // The image with this id, whatever its name is. NotFound: it is not here. FailedPrecondition: it
  // was made of something else than the target is made of.
  Task<absl::StatusOr<docker::ImageInfo>> FindExactly(v1::TargetSpec target, std::string id);
  // The image with this id gets the target's tag, if it is here and was made of what the target is
  // made of. NotFound: it is not here. FailedPrecondition: it was made of something else.
  Task<absl::Status> Adopt(v1::TargetSpec target, std::string id);
  // Loads the archive of one image and adopts it. FailedPrecondition: it held another image than
  // the one with this id, or one that was made of something else; what it brought is removed.
  Task<absl::Status> Load(v1::TargetSpec target, std::string id, docker::BodySource archive,
                          docker::EngineClient loader);

  // What the target says of itself, asked in a container without a network, once for each image.
  Task<absl::StatusOr<v1::TargetFacts>> Facts(v1::TargetSpec target, docker::ImageInfo image,
                                              v1::ContainerOptions limits,
                                              std::function<bool()> stopping);

  // Its facts are known: nothing has to be started for them.
  bool IsDescribed(const docker::ImageInfo& image, const std::string& target) const;
  // Names of the targets whose facts are known.
  std::vector<std::string> Described() const;
  // For one build.
  docker::EngineClient MakeBuilder() const;

 private:
  // Tagged again, if it has the tag of its target: so no other program on this host removes it as
  // one that nobody uses (common/docker/old_images.h), until a container does.
  Task<absl::StatusOr<docker::ImageInfo>> Kept(docker::ImageInfo image, ImageKey key);

  static constexpr size_t kMaxKnownFacts = 256;
  static constexpr size_t kMaxBuilds = 4;

  // What no container uses and has no name but those of `loaded`.
  static Task<> RemoveLoaded(docker::EngineClient client, std::vector<std::string> loaded);
  Task<absl::StatusOr<std::string>> BuildNetwork(docker::EngineClient::TextSink progress);
  // The image like that one, with what it was built on as labels. Its id.
  static Task<absl::StatusOr<std::string>> WithBases(docker::EngineClient builder, std::string name,
                                                     std::string id, std::vector<BaseSeen> seen);

  const std::shared_ptr<ContainerHost> host_;
  const std::shared_ptr<GuardedNetwork> public_network_;
  const Settings settings_;
  absl::flat_hash_set<std::string> held_;
  std::map<std::string, v1::TargetFacts> facts_;  // by image id and name
};

}  // namespace fetchbench::agent
