#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::docker {

// Writes a canonical ustar archive: time 0, owner 0, mode 0644 or 0755, so equal contents in equal
// order give equal bytes. Long names get a pax header. Pure; `out` gets the pieces in order, and an
// error of it ends the writing.
class TarWriter {
 public:
  using Out = std::function<absl::Status(std::string_view bytes)>;
  explicit TarWriter(Out out) : out_(std::move(out)) {}

  // Paths are relative, with '/', without "." or ".." parts.
  absl::Status AddFolder(std::string_view path);
  absl::Status AddFile(std::string_view path, std::string_view content, bool executable);
  absl::Status AddSymlink(std::string_view path, std::string_view to);

  // A file in pieces: BeginFile, exactly `size` bytes by AppendToFile, EndFile.
  absl::Status BeginFile(std::string_view path, uint64_t size, bool executable);
  absl::Status AppendToFile(std::string_view bytes);
  absl::Status EndFile();

  // The end marker; the archive is whole after it.
  absl::Status Finish();

 private:
  absl::Status Header(std::string_view path, std::string_view link, char type, uint64_t size,
                      unsigned mode);
  absl::Status PaxHeader(std::string_view path, std::string_view link);
  absl::Status Pad(uint64_t size);

  const Out out_;
  uint64_t file_size_ = 0;
  uint64_t file_left_ = 0;
};

// A whole archive of one file. InvalidArgument: as AddFile.
absl::StatusOr<std::string> TarOfFile(std::string_view path, std::string_view content,
                                      bool executable);

}  // namespace fetchbench::docker
