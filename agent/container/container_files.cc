#include "agent/container/container_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "common/docker/owner.h"
#include "common/files.h"
#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

constexpr std::string_view kFolderPrefix = "fetchbench-agent-of-";
constexpr mode_t kReadableForAll = 0644;

absl::StatusOr<std::string> WriteFile(const std::string& path_template, const std::string& text) {
  std::string path = path_template;
  const int fd = mkstemp(path.data());
  if (fd < 0) return FromErrno(errno, fmt::format("making a file {}", path_template));
  close(fd);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out || chmod(path.c_str(), kReadableForAll) != 0) {
    const absl::Status failed = FromErrno(errno, fmt::format("writing {}", path));
    unlink(path.c_str());
    return failed;
  }
  return path;
}

}  // namespace

absl::StatusOr<ContainerFiles> ContainerFiles::Make(const std::string& folder,
                                                    const std::string& ca_pem,
                                                    const std::string& resolver) {
  ContainerFiles files;
  if (!ca_pem.empty()) {
    absl::StatusOr<std::string> path = WriteFile(folder + "/ca-XXXXXX", ca_pem);
    if (!path.ok()) return path.status();
    files.mounts_.ca_file = *std::move(path);
  }
  if (!resolver.empty()) {
    absl::StatusOr<std::string> path =
        WriteFile(folder + "/resolv-XXXXXX", fmt::format("nameserver {}\n", resolver));
    if (!path.ok()) return path.status();
    files.mounts_.resolv_conf = *std::move(path);
  }
  return files;
}

ContainerFiles::ContainerFiles(ContainerFiles&& other) noexcept
    : mounts_(std::exchange(other.mounts_, {})) {}

ContainerFiles& ContainerFiles::operator=(ContainerFiles&& other) noexcept {
  std::swap(mounts_, other.mounts_);
  return *this;
}

ContainerFiles::~ContainerFiles() {
  if (!mounts_.ca_file.empty()) unlink(mounts_.ca_file.c_str());
  if (!mounts_.resolv_conf.empty()) unlink(mounts_.resolv_conf.c_str());
}

absl::StatusOr<std::string> MakePrivateFolder(const std::string& owner) {
  std::string path = fmt::format("{}/{}{}", TemporaryFolder(), kFolderPrefix, owner);
  if (mkdir(path.c_str(), 0700) == 0) return path;
  struct stat info {};
  // Nobody else may have made it for us.
  if (errno == EEXIST && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
      info.st_uid == geteuid() && (info.st_mode & 077) == 0) {
    return path;
  }
  return FromErrno(errno, fmt::format("making the folder {}", path));
}

void RemoveLeftFolders() { docker::RemoveFoldersOfTheGone(kFolderPrefix); }

}  // namespace fetchbench::agent
