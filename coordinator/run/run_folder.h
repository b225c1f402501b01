#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// "20260131T235959Z-3fa9c1": sorts by time; the end keeps runs of one second apart. Pure.
std::string MakeRunId(int64_t wall_us, uint32_t random);

// The folder of one run, OUT/<run-id>, held by one coordinator at a time: a lock on its file
// `coordinator.lock` lasts as long as this object, and no longer than the process.
class RunFolder {
 public:
  // Makes it, and OUT if need be, and points OUT/latest at it. Errors name the path, and leave
  // nothing behind. InvalidArgument: OUT is a file, or below one.
  static absl::StatusOr<RunFolder> Create(const std::string& out, const std::string& run_id);
  // One that is there. FailedPrecondition: a coordinator is at it. NotFound: it is no run's folder.
  static absl::StatusOr<RunFolder> Open(const std::string& path);
  RunFolder(RunFolder&& other) noexcept
      : path_(std::move(other.path_)),
        lock_(std::exchange(other.lock_, -1)),
        latest_before_(std::move(other.latest_before_)) {}
  RunFolder& operator=(RunFolder&& other) noexcept;
  ~RunFolder();

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Replaces a file as a whole: a reader sees the old text or the new, never half of one, also
  // after a power cut. A few disk writes.
  absl::Status Write(std::string_view name, std::string_view text) const;
  // Removes a file that may be there.
  void Remove(std::string_view name) const;

  // Of one that Create made: it is as if it had never been the newest. OUT/latest points at what it
  // pointed to before, unless a later run has taken it since.
  void GiveBackLatest() const;
  // The same, and it is removed with all that is in it. Its files are closed.
  void Discard() const;

  // That the coordinator lives: the lock's time stamp, which takes no space on a full disk.
  void SignOfLife(int64_t wall_us) const;
  // The last one; 0: none.
  int64_t LastSignOfLife() const;

 private:
  RunFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
  std::string latest_before_;  // what OUT/latest held when Create took it; empty: nothing
};

}  // namespace fetchbench::coordinator
