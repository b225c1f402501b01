#include "common/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace fetchbench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 16 << 10;
constexpr size_t kAnyLength = static_cast<size_t>(-1);

std::string ErrorText(int error) { return std::generic_category().message(error); }

// Appends until the end, an error, or more than `max_bytes`. Returns errno; 0: all is well.
int ReadUpTo(const std::string& path, size_t max_bytes, std::string& text) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return errno;
  std::array<char, kPieceBytes> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  int error = 0;
  while (text.size() <= max_bytes) {
    const ssize_t n = read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    text.append(piece.data(), static_cast<size_t>(n));
  }
  close(fd);
  return error;
}

absl::Status ReadError(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(fmt::format("{}: {}", path, ErrorText(error)));
    case EISDIR:
      return absl::InvalidArgumentError(fmt::format("{} is a folder: name a file", path));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          fmt::format("{} cannot be read: {}", path, ErrorText(error)));
    default:
      return absl::UnavailableError(fmt::format("{} cannot be read: {}", path, ErrorText(error)));
  }
}

}  // namespace

std::string ReadWholeFile(const std::string& path) {
  std::string text;
  if (ReadUpTo(path, kAnyLength, text) != 0) text.clear();
  return text;
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes) {
  std::string text;
  if (const int error = ReadUpTo(path, max_bytes, text); error != 0) return ReadError(path, error);
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        fmt::format("{} is larger than {} bytes: is it the right file?", path, max_bytes));
  }
  return text;
}

absl::Status CheckIsFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_regular_file(status)) return absl::OkStatus();
  if (error && error != std::errc::no_such_file_or_directory) {
    return ReadError(path, error.value());
  }
  if (!fs::exists(status)) return ReadError(path, ENOENT);
  return absl::InvalidArgumentError(fmt::format("{} is no file", path));
}

std::string TemporaryFolder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) return "/tmp";
  const fs::path absolute = fs::absolute(folder, error);
  return error ? "/tmp" : absolute.lexically_normal().string();
}

}  // namespace fetchbench
