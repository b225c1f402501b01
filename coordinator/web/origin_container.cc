#include "coordinator/web/origin_container.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <utility>

#include "common/docker/leftovers.h"
#include "common/docker/owner.h"
#include "common/spawn.h"
#include "common/status_util.h"
#include "coordinator/fleet/stop_look_up.h"
#include "coordinator/host/placement.h"
#include "coordinator/host/socket_folder.h"
#include "coordinator/web/origin_image.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr uint64_t kOpenFiles = 20'000;
constexpr int kMaxProcesses = 64;
constexpr size_t kMaxOutputBytes = 4096;  // of its last words, and of its first line
constexpr std::chrono::seconds kReadyLimit{30};
constexpr const char* kProfileInside = "/profile.json";
constexpr const char* kControlFolderInside = "/control";
constexpr const char* kControlName = "socket";

// The wanted or the host's hard limit, whichever is lower.
uint64_t OpenFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<uint64_t>(kOpenFiles, limit.rlim_max);
}

bool IsFile(const std::string& profile) {
  return profile.find('/') != std::string::npos || profile.ends_with(".json");
}

// A copy that the container's user may read, whatever the original's mode and folders are.
absl::StatusOr<std::string> CopyProfile(const OriginContainerPlan& plan) {
  std::error_code error;
  const fs::path copy = fs::absolute(plan.profile_folder, error) / "profile.json";
  if (!error) {
    fs::copy_file(plan.profile, copy, fs::copy_options::overwrite_existing, error);
  }
  if (!error) fs::permissions(copy, static_cast<fs::perms>(0644), error);
  if (!error) return copy.string();
  return absl::NotFoundError(fmt::format("profile {}: {}", plan.profile, error.message()));
}

docker::Labels LabelsOf(const std::string& run_id) {
  return {{std::string(docker::kOwnerLabel), docker::ThisProcess().Text()},
          {std::string(docker::kRunLabel), run_id}};
}

json::object Mount(const std::string& source, const char* target, bool read_only) {
  return {{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", read_only}};
}

// In a folder that this user alone may enter, one that the container's user may write to.
absl::Status MakeControlFolder(const std::string& folder) {
  const std::string inside = folder + kControlFolderInside;
  if (mkdir(inside.c_str(), 0700) != 0 || chmod(inside.c_str(), 0777) != 0) {
    return FromErrno(errno, "making the folder " + inside);
  }
  return absl::OkStatus();
}

json::object HostConfig(const OriginContainerPlan& plan, const std::string& control_folder,
                        const std::string& profile_copy) {
  const uint64_t files = OpenFileLimit();
  json::object host{{"NetworkMode", "none"},
                    {"AutoRemove", true},
                    {"CapDrop", json::array{"ALL"}},
                    {"SecurityOpt", json::array{"no-new-privileges"}},
                    {"ReadonlyRootfs", true},
                    {"PidsLimit", kMaxProcesses},
                    {"LogConfig", json::object{{"Type", "none"}}},
                    {"Sysctls", json::object{{"net.ipv4.ip_unprivileged_port_start", "0"}}}};
  host["Ulimits"] = json::array{json::object{{"Name", "nofile"}, {"Soft", files}, {"Hard", files}}};
  if (!plan.cpus.empty()) host["CpusetCpus"] = CpuListText(plan.cpus);
  json::array mounts{Mount(control_folder + kControlFolderInside, kControlFolderInside, false)};
  if (!profile_copy.empty()) mounts.push_back(Mount(profile_copy, kProfileInside, true));
  host["Mounts"] = std::move(mounts);
  return host;
}

json::object ContainerConfig(const OriginContainerPlan& plan, const std::string& image,
                             json::object host, bool profile_copied) {
  const std::vector<std::string> arguments{
      "--profile",      profile_copied ? kProfileInside : plan.profile,
      "--profiles-dir", "/profiles",
      "--seed",         fmt::format("{}", plan.seed),
      "--dns-port",     "53",
      "--http-port",    "80",
      "--https-port",   "443",
      "--control",      fmt::format("unix:{}/{}", kControlFolderInside, kControlName),
      "--exit-at-eof"};
  return {{"Image", image},
          {"Cmd", json::value_from(arguments)},
          {"OpenStdin", true},
          {"StdinOnce", true},  // it ends when our connection does
          {"AttachStdin", true},
          {"AttachStdout", true},
          {"AttachStderr", true},
          {"Labels", docker::ToJson(LabelsOf(plan.run_id))},
          {"HostConfig", std::move(host)}};
}

}  // namespace

// What the container says, taken from it all the time: the Engine cannot end one whose output
// nobody reads.
struct OriginContainer::Output {
  Output(const net::any_io_executor& loop, docker::AttachStream s)
      : stream(std::move(s)), changed(loop) {}

  static Task<> Drain(std::shared_ptr<Output> self) {
    const auto sink = [self](docker::StreamDemux::Stream from, std::string_view bytes) {
      self->Take(from, bytes);
    };
    absl::Status status;
    while (status.ok()) status = co_await self->stream.Read(sink);
    self->ended = true;
    self->changed.Notify();
  }

  void Take(docker::StreamDemux::Stream from, std::string_view bytes) {
    std::string& text = from == docker::StreamDemux::Stream::kStdout ? said : complained;
    text.append(bytes);
    if (text.size() > kMaxOutputBytes) text.erase(0, text.size() - kMaxOutputBytes);
    if (&text == &complained) spdlog::debug("origin: {}", bytes);
    changed.Notify();
  }

  docker::AttachStream stream;
  Wakeup changed;
  std::string said;
  std::string complained;
  bool ended = false;
};

OriginContainer::~OriginContainer() {
  RemoveFolder();
  if (output_) output_->stream.Close();
}

Task<absl::StatusOr<std::unique_ptr<OriginContainer>>> OriginContainer::Start(
    docker::EngineClient engine, OriginContainerPlan plan, std::function<bool()> stopped) {
  const auto leftovers = co_await docker::RemoveLeftovers(engine);
  if (!leftovers.ok()) co_return leftovers.status();
  for (const absl::Status& error : leftovers->errors) {
    spdlog::warn("a leftover of another run stays: {}", std::string(error.message()));
  }
  auto image = co_await EnsureOriginImage(engine, plan.program, plan.profiles);
  if (!image.ok()) co_return image.status();
  std::unique_ptr<OriginContainer> origin(new OriginContainer(engine));
  absl::Status status = co_await origin->Create(std::move(plan), *std::move(image));
  if (status.ok()) status = co_await origin->WaitReady(std::move(stopped));
  if (!status.ok()) {
    co_await origin->Remove();
    co_return status;
  }
  co_return std::move(origin);
}

Task<absl::Status> OriginContainer::Create(OriginContainerPlan plan, std::string image) {
  std::string profile_copy;
  if (IsFile(plan.profile)) {
    auto copy = CopyProfile(plan);
    if (!copy.ok()) co_return copy.status();
    profile_copy = *std::move(copy);
  }
  auto folder = MakeSocketFolder();
  if (!folder.ok()) co_return folder.status();
  folder_ = *std::move(folder);
  if (absl::Status s = MakeControlFolder(folder_); !s.ok()) co_return s;
  control_ = fmt::format("unix:{}{}/{}", folder_, kControlFolderInside, kControlName);
  json::object host = HostConfig(plan, folder_, profile_copy);
  json::object config = ContainerConfig(plan, image, std::move(host), !profile_copy.empty());
  // The name before the call: one that was cut off may have been carried out.
  name_ = fmt::format("fetchbench-{}-origin", plan.run_id);
  auto id = co_await engine_.CreateContainer(name_, std::move(config));
  if (!id.ok()) co_return id.status();
  id_ = *std::move(id);
  auto stream = co_await engine_.AttachContainer(id_, true);
  if (!stream.ok()) co_return stream.status();
  output_ = std::make_shared<Output>(engine_.loop(), *std::move(stream));
  Spawn(engine_.loop(), "reading the origin's output", Output::Drain(output_));
  co_return co_await engine_.StartContainer(id_);
}

Task<absl::Status> OriginContainer::WaitReady(std::function<bool()> stopped) {
  const SteadyTime limit = std::chrono::steady_clock::now() + kReadyLimit;
  while (output_->said.find('\n') == std::string::npos) {
    if (output_->ended) {
      // A profile that is wrong, most often.
      co_return absl::InvalidArgumentError(
          fmt::format("the origin ended before it was ready: {}", output_->complained));
    }
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    if (std::chrono::steady_clock::now() > limit) {
      co_return absl::DeadlineExceededError(
          fmt::format("the origin's container did not get ready within {} s: {}",
                      kReadyLimit.count(), output_->complained));
    }
    co_await output_->changed.WaitUntil(std::chrono::steady_clock::now() + kStopLookUp);
  }
  co_return absl::OkStatus();
}

Task<> OriginContainer::Remove() {
  if (!name_.empty()) {
    const absl::Status removed = co_await engine_.RemoveContainer(std::exchange(name_, {}));
    if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
  }
  if (output_) output_->stream.Close();
  RemoveFolder();
}

void OriginContainer::RemoveFolder() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(std::exchange(folder_, {}), error);
}

}  // namespace fetchbench::coordinator
