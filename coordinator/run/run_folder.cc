#include "coordinator/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "common/files.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(std::string_view what, const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(fmt::format("cannot {} {}: {}", what, path, error.message()));
}

absl::Status FailedWithErrno(std::string_view what, const std::string& path) {
  return Failed(what, path, std::error_code(errno, std::generic_category()));
}

constexpr const char* kLockName = "/coordinator.lock";

// The descriptor that holds the lock. Children do not inherit it.
absl::StatusOr<int> LockFolder(const std::string& path, int flags) {
  const std::string name = path + kLockName;
  const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC | flags, 0644);
  if (fd < 0) return FailedWithErrno("open", name);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const bool held = errno == EWOULDBLOCK;
  const absl::Status failed = FailedWithErrno("lock", name);
  close(fd);
  if (!held) return failed;
  std::string pid = ReadWholeFile(name);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return absl::FailedPreconditionError(
      fmt::format("the coordinator of {} is at work{}", path,
                  pid.empty() ? "" : fmt::format(" (process {})", pid)));
}

void NoteProcess(int lock) {
  const std::string pid = fmt::format("{}\n", getpid());
  // For people only: a full disk may leave it empty.
  if (ftruncate(lock, 0) != 0 || pwrite(lock, pid.data(), pid.size(), 0) < 0) return;
}

// That neither `out` nor what it is below is a file.
absl::Status CheckNoFile(const std::string& out) {
  std::error_code error;
  for (fs::path path = out; !path.empty(); path = path.parent_path()) {
    const fs::file_status found = fs::status(path, error);
    if (fs::exists(found) && !fs::is_directory(found)) {
      return absl::InvalidArgumentError(
          fmt::format("--out {}: {} is a file, not a folder", out, path.string()));
    }
    if (path == path.parent_path()) break;
  }
  return absl::OkStatus();
}

std::string LatestOf(const std::string& path) {
  return (fs::path(path).parent_path() / "latest").string();
}

// A link is replaced by renaming another one over it: there is always a latest.
absl::Status PointLatest(const std::string& path, const std::string& at) {
  const std::string latest = LatestOf(path);
  const fs::path run(path);
  const std::string link = (run.parent_path() / (".latest-" + run.filename().string())).string();
  std::error_code error;
  fs::create_directory_symlink(at, link, error);
  if (error) return Failed("point at the newest run with", latest, error);
  fs::rename(link, latest, error);
  if (!error) return absl::OkStatus();
  const absl::Status failed = Failed("point at the newest run with", latest, error);
  fs::remove(link, error);
  return failed;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// So that a name in it lasts; where that cannot be had, the file's content was still written.
void SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

std::string MakeRunId(int64_t wall_us, uint32_t random) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar names
  const sys_time<seconds> time = floor<seconds>(sys_time<microseconds>(microseconds(wall_us)));
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z-{:06x}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     random & 0xffffff);
}

absl::StatusOr<RunFolder> RunFolder::Create(const std::string& out, const std::string& run_id) {
  std::error_code error;
  const std::string path = out + "/" + run_id;
  if (absl::Status s = CheckNoFile(out); !s.ok()) return s;
  fs::create_directories(out, error);
  if (error) return Failed("create the folder", out, error);
  if (!fs::create_directory(path, error) || error) {
    if (!error) error = std::make_error_code(std::errc::file_exists);
    return Failed("create the run folder", path, error);
  }
  const auto lock = LockFolder(path, O_CREAT);
  if (!lock.ok()) {
    fs::remove_all(path, error);
    return lock.status();
  }
  NoteProcess(*lock);
  RunFolder folder(path, *lock);
  folder.latest_before_ = fs::read_symlink(LatestOf(path), error).string();
  if (absl::Status s = PointLatest(path, run_id); !s.ok()) {
    fs::remove_all(path, error);
    return s;
  }
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Open(const std::string& path) {
  struct stat info {};
  if (stat((path + kLockName).c_str(), &info) != 0) {
    return absl::NotFoundError(fmt::format("{} is not the folder of a run", path));
  }
  const auto lock = LockFolder(path, 0);
  if (!lock.ok()) return lock.status();
  RunFolder folder(path, *lock);
  // Before the process is noted, which is a sign of life too.
  const int64_t last = folder.LastSignOfLife();
  NoteProcess(*lock);
  folder.SignOfLife(last);
  return folder;
}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  std::swap(latest_before_, other.latest_before_);
  return *this;
}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

absl::Status RunFolder::Write(std::string_view name, std::string_view text) const {
  const std::string path = File(name);
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return FailedWithErrno("write", path);
  absl::Status status;
  if (!WriteAll(fd, text) || fsync(fd) != 0) status = FailedWithErrno("write", path);
  close(fd);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = FailedWithErrno("write", path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  SyncFolder(path_);
  return absl::OkStatus();
}

void RunFolder::Remove(std::string_view name) const { unlink(File(name).c_str()); }

void RunFolder::GiveBackLatest() const {
  const fs::path run(path_);
  const std::string latest = LatestOf(path_);
  std::error_code error;
  if (fs::read_symlink(latest, error) != run.filename()) return;
  // What was the newest may have been removed meanwhile.
  if (!latest_before_.empty() && fs::exists(run.parent_path() / latest_before_, error) &&
      PointLatest(path_, latest_before_).ok()) {
    return;
  }
  fs::remove(latest, error);
}

void RunFolder::Discard() const {
  GiveBackLatest();
  std::error_code error;
  fs::remove_all(path_, error);
}

void RunFolder::SignOfLife(int64_t wall_us) const {
  timespec time{};
  time.tv_sec = wall_us / 1'000'000;
  time.tv_nsec = wall_us % 1'000'000 * 1'000;
  const std::array<timespec, 2> both{time, time};
  futimens(lock_, both.data());
}

int64_t RunFolder::LastSignOfLife() const {
  struct stat info {};
  if (fstat(lock_, &info) != 0) return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000'000 + info.st_mtim.tv_nsec / 1'000;
}

}  // namespace fetchbench::coordinator
