#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/docker/attach_stream.h"
#include "common/docker/body_source.h"
#include "common/docker/engine_call.h"
#include "common/docker/engine_json.h"
#include "common/net.h"

namespace fetchbench::docker {

// The newest version of the API that this client speaks; an older Engine is spoken to in its own.
inline constexpr const char* kNewestApi = "1.44";

// Deadlines, each for one call from connecting to the last byte of the answer.
struct EngineDeadlines {
  std::chrono::milliseconds ask{10'000};     // what only looks: version, inspect, list, stats
  std::chrono::milliseconds change{60'000};  // create, start, kill, remove, tag
  std::chrono::milliseconds build{1'800'000};
};

// What the steps of a build may use. 0 and empty: as much as there is.
struct BuildLimits {
  uint64_t memory_bytes = 0;  // swap included
  uint32_t cpu_permille = 0;  // of one CPU
  std::string cpuset;         // "0-1"
};

struct BuildRequest {
  std::string name;  // of what is built, for error texts
  std::string tag;   // "repository:tag"; empty: the image has only its id
  Labels build_args;
  Labels labels;
  // For RUN steps: empty (the Engine's default), "host", "none" or a network's name.
  std::string network_mode;
  BuildLimits limits;
  std::string dockerfile = "Dockerfile";
  BodySource context;
};

// A Docker Engine, through its Unix socket. A handle: copies are cheap and share the connections
// and what was learnt of the Engine. All on one loop; a handle must outlive the calls made through
// it. Errors name the call, the Engine's own words and what to do: Unavailable (no Engine, or it
// went away), PermissionDenied, DeadlineExceeded, NotFound, FailedPrecondition (conflict),
// InvalidArgument, Internal, Cancelled (CancelAll).
class EngineClient {
 public:
  using TextSink = std::function<void(std::string_view line)>;

  EngineClient(net::any_io_executor loop, std::string socket_path, EngineDeadlines deadlines = {});

  Task<absl::StatusOr<EngineVersion>> Version();
  Task<absl::StatusOr<EngineInfo>> Info();

  // Builds with the classic builder and returns the image's id. `progress` gets the builder's
  // output line by line. The error of a step that failed holds the last lines of its output. A
  // build that is cut off (deadline, CancelAll) leaves no image behind that has a tag.
  Task<absl::StatusOr<std::string>> BuildImage(BuildRequest request, TextSink progress);
  // `docker load` and `docker import`: an archive of images, or of one root file system. `changes`
  // are lines of a Dockerfile ("ENTRYPOINT [...]"). Load returns what the Engine says that it has
  // loaded, references and ids of images without one; import returns the image's id.
  Task<absl::StatusOr<std::vector<std::string>>> LoadImages(BodySource archive);
  Task<absl::StatusOr<std::string>> ImportImage(BodySource root, std::string repository,
                                                std::string tag, std::vector<std::string> changes);
  // `docker save`. By its id the archive holds no name for the image, and a load sets none.
  Task<absl::StatusOr<EngineBody>> ExportImage(std::string reference);
  Task<absl::StatusOr<ImageInfo>> InspectImage(std::string reference);
  Task<absl::Status> TagImage(std::string reference, std::string repository, std::string tag);
  // FailedPrecondition: a container uses it.
  Task<absl::Status> RemoveImage(std::string reference);
  // Of a repository ("fetchbench/origin"), with its own tags only.
  Task<absl::StatusOr<std::vector<ImageSummary>>> ListImages(std::string repository);

  // `config` as the API takes it (Image, Cmd, Env, HostConfig ...). Returns the container's id.
  Task<absl::StatusOr<std::string>> CreateContainer(std::string name, boost::json::object config);
  Task<absl::Status> StartContainer(std::string id);
  // Before the start, so that nothing is missed. The deadline `change` is for the attaching only.
  Task<absl::StatusOr<AttachStream>> AttachContainer(std::string id, bool with_stdin);
  // Its exit code, once it does not run any more. DeadlineExceeded: it ran for `patience`.
  Task<absl::StatusOr<int>> WaitContainer(std::string id, std::chrono::milliseconds patience);
  Task<absl::Status> KillContainer(std::string id, std::string signal);
  Task<absl::StatusOr<ContainerInfo>> InspectContainer(std::string id);
  // With force, running or not. OK when there is none of that name any more. Tried a few times.
  Task<absl::Status> RemoveContainer(std::string id);
  Task<absl::StatusOr<std::vector<ContainerSummary>>> ListContainers(
      std::vector<std::string> labels);
  Task<absl::StatusOr<ContainerStats>> Stats(std::string id);

  // `config` as the API takes it (Internal, Labels, IPAM ...), the name aside. Returns the id.
  Task<absl::StatusOr<std::string>> CreateNetwork(std::string name, boost::json::object config);
  Task<absl::StatusOr<NetworkInfo>> InspectNetwork(std::string name);
  // OK when there is none of that name any more.
  Task<absl::Status> RemoveNetwork(std::string name);
  Task<absl::StatusOr<std::vector<NetworkInfo>>> ListNetworks(std::vector<std::string> labels);

  // Ends all calls under way and all attached streams of this handle and its copies.
  void CancelAll();

  const std::string& socket_path() const { return port_.socket_path; }
  const net::any_io_executor& loop() const { return port_.loop; }
  // The process that listens on the socket (dockerd, or what opened it for dockerd); -1: cannot
  // tell.
  Task<int> EnginePid();

 private:
  struct Learnt {
    std::string prefix;  // "/v1.41"
  };

  Task<absl::StatusOr<std::string>> Prefix();
  Task<absl::StatusOr<EngineReply>> Call(EngineCall call);
  Task<absl::StatusOr<EngineReply>> Ask(std::string what, std::string target);
  Task<absl::Status> Change(std::string what, boost::beast::http::verb method, std::string target);
  Task<absl::Status> RemoveOnce(std::string id);
  Task<absl::StatusOr<std::string>> Create(std::string what, std::string target,
                                           boost::json::object config);

  EnginePort port_;
  EngineDeadlines deadlines_;
  std::shared_ptr<Learnt> learnt_ = std::make_shared<Learnt>();
};

}  // namespace fetchbench::docker
