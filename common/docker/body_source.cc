#include "common/docker/body_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace fetchbench::docker {
namespace {

// A place in a string or a file; shared by the copies of a function.
struct StringPlace {
  std::string bytes;
  size_t at = 0;
};

struct FilePlace {
  explicit FilePlace(int f) : fd(f) {}
  ~FilePlace() {
    if (fd >= 0) close(fd);
  }
  FilePlace(const FilePlace&) = delete;
  FilePlace& operator=(const FilePlace&) = delete;

  int fd;
  off_t at = 0;
};

}  // namespace

BodySource BodyFromString(std::string bytes) {
  auto place = std::make_shared<StringPlace>();
  place->bytes = std::move(bytes);
  BodySource source;
  source.size = place->bytes.size();
  source.read = [place](char* data, size_t size) -> absl::StatusOr<size_t> {
    const size_t n = std::min(size, place->bytes.size() - place->at);
    std::memcpy(data, place->bytes.data() + place->at, n);
    place->at += n;
    return n;
  };
  return source;
}

absl::StatusOr<BodySource> BodyFromFile(int fd) {
  auto place = std::make_shared<FilePlace>(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  struct stat info {};
  if (place->fd < 0 || fstat(place->fd, &info) != 0) {
    return absl::ErrnoToStatus(errno, "looking at an archive's file");
  }
  BodySource source;
  source.size = static_cast<uint64_t>(info.st_size);
  source.read = [place](char* data, size_t size) -> absl::StatusOr<size_t> {
    const ssize_t n = pread(place->fd, data, size, place->at);
    if (n < 0) return absl::ErrnoToStatus(errno, "reading an archive's file");
    place->at += n;
    return static_cast<size_t>(n);
  };
  return source;
}

}  // namespace fetchbench::docker
