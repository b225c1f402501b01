#include "coordinator/prepare/staged_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "common/docker/owner.h"
#include "common/files.h"
#include "common/status_util.h"
#include "coordinator/host/shared_libraries.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "fetchbench-stage-of-";
constexpr const char* kRootCertificates = "/etc/ssl/certs/ca-certificates.crt";

absl::Status CopyFile(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             fmt::format("cannot copy {} to {}", from.string(), to.string()));
}

absl::Status AddProgram(const fs::path& program, const fs::path& root) {
  std::error_code error;
  if (!fs::exists(program, error)) {
    return absl::NotFoundError(fmt::format("{} is not built", program.string()));
  }
  if (absl::Status s = CopyFile(program, root / program.filename()); !s.ok()) return s;
  const auto libraries = SharedLibraries(program.string());
  if (!libraries.ok()) return libraries.status();
  for (const std::string& library : *libraries) {
    if (absl::Status s = CopyFile(library, root / library.substr(1)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

absl::StatusOr<StagedFolder> StagedFolder::Make(const std::string& folder, const std::string& built,
                                                const std::vector<std::string>& programs) {
  docker::RemoveFoldersOfTheGone(kFolderPrefix);
  std::string path =
      fmt::format("{}/{}{}.XXXXXX", TemporaryFolder(), kFolderPrefix, docker::ThisProcess().Text());
  if (mkdtemp(path.data()) == nullptr) {
    return FromErrno(errno, fmt::format("cannot make the folder {}", path));
  }
  StagedFolder staged(path);
  std::error_code error;
  fs::copy(folder, path, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), fmt::format("cannot copy {} to {}", folder, path));
  }
  const fs::path root = fs::path(path) / "bin";
  for (const std::string& program : programs) {
    if (absl::Status s = AddProgram(fs::path(built) / program, root); !s.ok()) return s;
  }
  if (fs::exists(kRootCertificates, error)) {
    if (absl::Status s = CopyFile(kRootCertificates, root / (kRootCertificates + 1)); !s.ok()) {
      return s;
    }
  }
  return staged;
}

}  // namespace fetchbench::coordinator
