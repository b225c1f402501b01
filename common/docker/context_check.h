#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace fetchbench::docker {

// Bounds of what a build context may hold, whoever packed it.
inline constexpr size_t kMaxContextEntries = 40'000;  // files, folders and links
inline constexpr size_t kMaxContextPathBytes = 4'096;
inline constexpr size_t kMaxContextPathsBytes = 16 << 20;  // of all of them, with their folders
inline constexpr size_t kMaxPaxBytes = 16 << 10;

// Looks through a tar archive as it comes, and takes only what TarWriter writes: files, folders,
// and symbolic links that stay inside, under relative paths without "." and "..", in ustar with pax
// records for long names. So nothing depends on how whoever unpacks it reads the rest. Holds the
// paths, and the contents of those files only that are asked for. Pure.
class ContextCheck {
 public:
  // `subject`: what it is, for error texts.
  explicit ContextCheck(std::string subject = "a target's folder") : subject_(std::move(subject)) {}

  // Keeps the content of the file of this path, if it comes. InvalidArgument (from Feed): it is
  // larger than `max_bytes`. Before the first Feed.
  void Keep(std::string path, size_t max_bytes) { kept_[std::move(path)] = {max_bytes, "", false}; }
  // Null: there was no such file, or it was not asked for. After End.
  const std::string* Kept(const std::string& path) const;

  // InvalidArgument: what is wrong with which entry. ResourceExhausted: too many of them. After an
  // error the archive is done with.
  absl::Status Feed(std::string_view bytes);
  // At the archive's end. InvalidArgument: it was cut short.
  absl::Status End() const;

 private:
  static constexpr size_t kBlock = 512;
  enum class Kind : char { kFile, kFolder, kLink };
  enum class Part : char { kHead, kPax, kContent, kAfterEnd };

  struct KeptFile {
    size_t max_bytes = 0;
    std::string content;
    bool came = false;
  };

  absl::Status Wrong(std::string_view path, std::string_view what) const;
  absl::Status OnHead();
  absl::Status OnContent(char type, const std::string& path, uint64_t size);
  absl::Status OnEntry(char type, std::string path, const std::string& link);
  absl::Status OnPax();
  absl::Status CheckLink(const std::string& path, const std::string& to) const;
  absl::Status AddFoldersAbove(const std::string& path);
  absl::Status AddPath(const std::string& path, Kind kind);
  absl::Status CheckBounds() const;

  std::string subject_;
  std::map<std::string, KeptFile, std::less<>> kept_;
  KeptFile* keeping_ = nullptr;  // what the content goes to that is coming
  uint64_t keep_left_ = 0;
  std::string block_;  // of the head that is coming
  std::string pax_;    // of the records that are coming
  uint64_t pax_left_ = 0;
  uint64_t skip_ = 0;  // of content and padding
  Part part_ = Part::kHead;
  int zero_blocks_ = 0;
  size_t entries_ = 0;
  size_t path_bytes_ = 0;
  std::string next_path_;  // from pax records; empty: the head's own
  std::string next_link_;
  std::map<std::string, Kind, std::less<>> paths_;
};

}  // namespace fetchbench::docker
