#include "agent/container/container_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>

#include "agent/container/cgroup_usage.h"
#include "agent/container/container_files.h"
#include "common/docker/leftovers.h"
#include "common/docker/owner.h"

namespace fetchbench::agent {

ContainerHost::ContainerHost(net::any_io_executor loop, std::string socket_path,
                             std::string entry_program)
    : client_(std::move(loop), std::move(socket_path)),
      owner_(docker::ThisProcess().Text()),
      entry_program_(std::move(entry_program)) {}

ContainerHost::~ContainerHost() {
  std::error_code ignored;
  // Not what is in it: another ContainerHost of this process may use the same folder.
  if (!folder_.empty()) std::filesystem::remove(folder_, ignored);
}

Task<absl::StatusOr<docker::EngineInfo>> ContainerHost::Info() {
  if (info_) co_return *info_;
  absl::StatusOr<docker::EngineInfo> info = co_await client_.Info();
  if (info.ok()) info_ = *info;
  co_return info;
}

absl::StatusOr<std::string> ContainerHost::Folder() {
  absl::StatusOr<std::string> folder = MakePrivateFolder(owner_);
  if (folder.ok()) folder_ = *folder;
  return folder;
}

Task<> RemoveLeftovers(docker::EngineClient client) {
  RemoveLeftFolders();
  absl::StatusOr<docker::RemovedLeftovers> removed = co_await docker::RemoveLeftovers(client);
  if (absl::IsCancelled(removed.status())) co_return;
  if (!removed.ok()) {
    spdlog::info("containers cannot be used here: {}", std::string(removed.status().message()));
    co_return;
  }
  for (const absl::Status& error : removed->errors) {
    spdlog::warn("left behind by an agent that is gone: {}", std::string(error.message()));
  }
  if (!removed->containers.empty() || !removed->networks.empty()) {
    spdlog::info("removed what agents that are gone left behind: containers {}, networks {}",
                 fmt::join(removed->containers, " "), fmt::join(removed->networks, " "));
  }
  RemoveLeftCgroups();  // after the containers in them
}

}  // namespace fetchbench::agent
