#include "coordinator/run/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(std::string_view what, const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(fmt::format("cannot {} {}: {}", what, path, error.message()));
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
  fs::create_directories(out, error);
  if (error) return Failed("create the folder", out, error);
  if (!fs::create_directory(path, error) || error) {
    if (!error) error = std::make_error_code(std::errc::file_exists);
    return Failed("create the run folder", path, error);
  }
  // A link is replaced by renaming another one over it: there is always a latest.
  const std::string link = fmt::format("{}/.latest-{}", out, run_id);
  fs::create_directory_symlink(run_id, link, error);
  if (!error) fs::rename(link, out + "/latest", error);
  if (error) return Failed("point at the newest run with", out + "/latest", error);
  return RunFolder(path);
}

absl::Status RunFolder::Write(std::string_view name, std::string_view text) const {
  const std::string path = File(name);
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.flush();
    if (!file) {
      return absl::UnavailableError(
          fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
    }
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) return Failed("write", path, error);
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
