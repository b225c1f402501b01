#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// A copy of a target's folder with built programs in it: below bin/, each with its shared
// libraries under their own paths, so that bin/ is a whole root file system. Removed with the
// object; what a process that was killed left is removed by the next Make.
class StagedFolder {
 public:
  // `programs` are names in the folder `built`. Blocks. NotFound names the program that is missing.
  static absl::StatusOr<StagedFolder> Make(const std::string& folder, const std::string& built,
                                           const std::vector<std::string>& programs);
  StagedFolder(StagedFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();

  const std::string& path() const { return path_; }

 private:
  explicit StagedFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace fetchbench::coordinator
