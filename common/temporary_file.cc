#include "common/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fetchbench {

absl::StatusOr<TemporaryFile> TemporaryFile::Make(const std::string& folder, std::string what) {
  TemporaryFile file;
  file.what_ = std::move(what);
  file.fd_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file.fd_ >= 0) return file;
  std::string path = folder + "/fetchbench-XXXXXX";  // not every file system can
  file.fd_ = mkostemp(path.data(), O_CLOEXEC);
  if (file.fd_ < 0) return absl::ErrnoToStatus(errno, "making a temporary file in " + folder);
  unlink(path.c_str());
  return file;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), what_(std::move(other.what_)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(what_, other.what_);
  return *this;
}

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
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
  const ssize_t n = pread(fd_, bytes.data(), most, static_cast<off_t>(at));
  if (n < 0) return absl::ErrnoToStatus(errno, "reading " + what_ + " from its temporary file");
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

}  // namespace fetchbench
