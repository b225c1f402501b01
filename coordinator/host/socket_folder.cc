#include "coordinator/host/socket_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "common/docker/owner.h"
#include "common/files.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "fetchbench-run-";
constexpr const char* kOwnerFile = "owner";
constexpr size_t kLongestTemporary = 60;  // and up to 37 bytes behind it

bool IsOurs(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

void RemoveThoseOfTheGone(const std::string& temporary) {
  std::error_code error;
  for (fs::directory_iterator it(temporary, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (!path.filename().string().starts_with(kPrefix) || !IsOurs(path)) continue;
    // One that is only just being made has no owner yet: that is unknown, not gone.
    const std::string owner = ReadWholeFile(path / kOwnerFile);
    if (docker::StateOf(owner) != docker::OwnerState::kGone) continue;
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
}

}  // namespace

absl::StatusOr<std::string> MakeSocketFolder() {
  std::string temporary = TemporaryFolder();
  if (temporary.size() > kLongestTemporary) temporary = "/tmp";
  RemoveThoseOfTheGone(temporary);
  std::string folder = fmt::format("{}/{}XXXXXX", temporary, kPrefix);
  if (mkdtemp(folder.data()) == nullptr) {  // makes it with mode 0700
    return absl::UnavailableError(fmt::format("cannot make the folder {}: {}", folder,
                                              std::generic_category().message(errno)));
  }
  // Without it all works, and only a crash leaves the folder behind.
  std::ofstream(folder + "/" + kOwnerFile) << docker::ThisProcess().Text();
  return folder;
}

}  // namespace fetchbench::coordinator
