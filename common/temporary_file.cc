#include "common/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fetchbench {

absl::StatusOr<TemporaryFile> TemporaryFile::Make(const std::string& folder, std::string what) {
  TemporaryFile file;
  file.what_ = std::move(what);
  file.fd_ = Fd(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.fd_.valid()) return file;
  std::string path = folder + "/fetchbench-XXXXXX";  // not every file system can
  file.fd_ = Fd(mkostemp(path.data(), O_CLOEXEC));
  if (!file.fd_.valid()) return absl::ErrnoToStatus(errno, "making a temporary file in " + folder);
  unlink(path.c_str());
  return file;
}

TemporaryFile TemporaryFile::Adopt(Fd fd, std::string what) {
  TemporaryFile file;
  file.fd_ = std::move(fd);
  file.what_ = std::move(what);
  return file;
}

absl::Status TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, "writing " + what_ + " to a temporary file");
    }
    if (n <= 0) continue;
    bytes.remove_prefix(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TemporaryFile::Read(uint64_t at, size_t most) const {
  std::string bytes(most, '\0');
  const ssize_t n = pread(fd(), bytes.data(), most, static_cast<off_t>(at));
  if (n < 0) return absl::ErrnoToStatus(errno, "reading " + what_ + " from its temporary file");
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

}  // namespace fetchbench
