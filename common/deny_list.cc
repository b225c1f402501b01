#include "common/deny_list.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "common/certificate.h"
#include "common/status_util.h"

namespace fetchbench {
namespace {

// A file in the place of the list by mistake is not read for ever.
constexpr size_t kMaxSerials = 1'000'000;

using Serials = absl::flat_hash_set<std::string>;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

absl::StatusOr<Serials> ReadSerials(const std::string& path) {
  std::ifstream in(path);
  if (!in) return FromErrno(errno, path);
  // As a full disk or the beginning of a copy leaves it. Not by its size: that of a moment ago may
  // have been another.
  if (in.peek() == std::ifstream::traits_type::eof() && !in.bad()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} is empty: copy it anew; one that is to deny nobody has a line of comment, as in '# "
        "nobody', or is not there at all",
        path));
  }
  Serials serials;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const size_t end = line.find_last_not_of(" \t\r");
    std::string serial = NormalSerial(std::string_view(line).substr(begin, end - begin + 1));
    if (serial.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: no serial number in hex: write one a line, as `bin/pki list` shows "
                      "them, and comments after '#'",
                      path, number));
    }
    if (serials.size() >= kMaxSerials) {
      return absl::InvalidArgumentError(
          fmt::format("{}: more than {} serial numbers", path, kMaxSerials));
    }
    serials.insert(std::move(serial));
  }
  if (in.bad()) return FromErrno(errno, path);
  return serials;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DenyList>> DenyList::Load(std::string path) {
  std::unique_ptr<DenyList> list(new DenyList(std::move(path)));
  if (absl::Status s = list->Refresh(); !s.ok()) return s;
  return list;
}

// Stats first: what changes while it is being read is read again next time.
absl::Status DenyList::Refresh() {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) {
    if (errno != ENOENT) return FromErrno(errno, path_);
    now = {};
  }
  if (SameFile(now, seen_)) return absl::OkStatus();
  absl::StatusOr<Serials> serials = Serials();
  // A pipe would keep whoever opens it.
  if (now.st_ino != 0 && !S_ISREG(now.st_mode)) {
    serials = absl::InvalidArgumentError(path_ + " is no regular file");
  } else if (now.st_ino != 0) {
    serials = ReadSerials(path_);
  }
  // What is wrong stays so until it is changed; what cannot be read, for want of descriptors for
  // example, can be a moment later, and must not be taken for known.
  if (serials.ok() || absl::IsInvalidArgument(serials.status())) seen_ = now;
  if (!serials.ok()) return serials.status();
  if (serials->empty() && !serials_.empty()) {
    spdlog::warn("deny list: {} {}; nobody is denied any more", path_,
                 now.st_ino == 0 ? "is gone" : "has no serial number");
  }
  serials_ = *std::move(serials);
  return absl::OkStatus();
}

bool DenyList::Contains(const std::string& serial) {
  const std::lock_guard lock(mutex_);
  const absl::Status refreshed = Refresh();
  // Once, not at every certificate.
  if (!refreshed.ok() && refreshed != told_) {
    spdlog::error("deny list: {}; what it said before still holds",
                  std::string(refreshed.message()));
  }
  told_ = refreshed;
  return serials_.contains(serial);
}

}  // namespace fetchbench
