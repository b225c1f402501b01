#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// "20260131T235959Z-3fa9c1": sorts by time; the end keeps runs of one second apart. Pure.
std::string MakeRunId(int64_t wall_us, uint32_t random);

// The folder of one run, OUT/<run-id>.
class RunFolder {
 public:
  // Makes it, and OUT if need be, and points OUT/latest at it. Errors name the path.
  static absl::StatusOr<RunFolder> Create(const std::string& out, const std::string& run_id);

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Replaces a file as a whole: a reader sees the old text or the new, never half of one.
  absl::Status Write(std::string_view name, std::string_view text) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace fetchbench::coordinator
