#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "agent/container/container_config.h"

namespace fetchbench::agent {

// The files that one container gets from the host, in a folder of their own; removed with this
// object.
class ContainerFiles {
 public:
  // `folder` is private to this process. Files are readable for all: the container's user is
  // another one, and the folder keeps the host's users out.
  static absl::StatusOr<ContainerFiles> Make(const std::string& folder, const std::string& ca_pem,
                                             const std::string& resolver);
  ContainerFiles() = default;
  ContainerFiles(ContainerFiles&& other) noexcept;
  ContainerFiles& operator=(ContainerFiles&& other) noexcept;
  ~ContainerFiles();

  const ContainerMounts& mounts() const { return mounts_; }

 private:
  ContainerMounts mounts_;
};

// A folder below the system's for temporary files that only this process's user may enter, named by
// the process (`owner`).
absl::StatusOr<std::string> MakePrivateFolder(const std::string& owner);

// Removes those of processes that are gone.
void RemoveLeftFolders();

}  // namespace fetchbench::agent
