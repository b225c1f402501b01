#include "common/docker/context_tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "common/docker/ignore_rules.h"
#include "common/docker/sha256.h"
#include "common/docker/tar_writer.h"
#include "common/files.h"

namespace fetchbench::docker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDockerfile = "Dockerfile";
constexpr std::string_view kIgnoreFile = ".dockerignore";
constexpr size_t kPieceBytes = 256 << 10;

// By path, so that the archive's order does not depend on the file system.
using Entries = std::map<std::string, fs::file_type>;

bool IsKept(const IgnoreRules& rules, const std::string& path) {
  return path == kDockerfile || path == kIgnoreFile || !rules.Ignores(path);
}

absl::Status FileError(const fs::path& path, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), fmt::format("packing {}", path.string()));
}

// All that goes in, folders only when they hold something.
absl::StatusOr<Entries> ListEntries(const fs::path& folder, const IgnoreRules& rules) {
  Entries entries;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    const std::string path = it->path().lexically_relative(folder).string();
    const fs::file_type type = it->symlink_status(error).type();
    if (error) break;
    const bool kept = IsKept(rules, path);
    if (type == fs::file_type::directory) {
      if (!kept && !rules.has_exceptions()) it.disable_recursion_pending();
    } else if (kept) {
      if (entries.size() >= kMaxContextFiles) {
        return absl::InvalidArgumentError(
            fmt::format("{} holds more than {} files: name what a build does not need in {}",
                        folder.string(), kMaxContextFiles, kIgnoreFile));
      }
      entries[path] = type;
      for (fs::path up = fs::path(path).parent_path(); !up.empty(); up = up.parent_path()) {
        entries[up.string()] = fs::file_type::directory;
      }
    }
    it.increment(error);
  }
  if (error) return FileError(folder, error);
  return entries;
}

// A link's target may not leave the folder: elsewhere it would lead to something else, or nothing.
absl::Status CheckLink(const fs::path& file, const std::string& path, const fs::path& to) {
  const fs::path landing = (fs::path(path).parent_path() / to).lexically_normal();
  if (to.is_absolute() || landing.empty() || *landing.begin() == "..") {
    return absl::InvalidArgumentError(
        fmt::format("{}: the symbolic link leads out of the target's folder, to {}", file.string(),
                    to.string()));
  }
  return absl::OkStatus();
}

absl::Status AddFile(TarWriter& tar, const fs::path& file, const std::string& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  if (error) return FileError(file, error);
  const fs::perms mode = fs::status(file, error).permissions();
  const bool executable = (mode & fs::perms::owner_exec) != fs::perms::none;
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::PermissionDeniedError(fmt::format("{} cannot be read", file.string()));
  if (absl::Status s = tar.BeginFile(path, size, executable); !s.ok()) return s;
  std::string piece(kPieceBytes, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    const std::string_view got(piece.data(), static_cast<size_t>(in.gcount()));
    if (absl::Status s = tar.AppendToFile(got); !s.ok()) return s;
  }
  return tar.EndFile();
}

absl::Status AddEntry(TarWriter& tar, const fs::path& folder, const std::string& path,
                      fs::file_type type) {
  const fs::path file = folder / path;
  if (type == fs::file_type::directory) return tar.AddFolder(path);
  if (type == fs::file_type::regular) return AddFile(tar, file, path);
  if (type != fs::file_type::symlink) {
    return absl::InvalidArgumentError(
        fmt::format("{}: neither a file, a folder nor a symbolic link", file.string()));
  }
  std::error_code error;
  const fs::path to = fs::read_symlink(file, error);
  if (error) return FileError(file, error);
  if (absl::Status s = CheckLink(file, path, to); !s.ok()) return s;
  return tar.AddSymlink(path, to.string());
}

// Without the file there are no rules.
absl::StatusOr<IgnoreRules> ReadRules(const fs::path& path) {
  const absl::Status is_file = CheckIsFile(path.string());
  if (absl::IsNotFound(is_file)) return IgnoreRules::Parse("");
  if (!is_file.ok()) return is_file;
  const absl::StatusOr<std::string> text = ReadTextFile(path.string());
  if (!text.ok()) return text.status();
  return IgnoreRules::Parse(*text);
}

}  // namespace

absl::StatusOr<ContextTar> PackContext(const std::string& folder) {
  const fs::path root(folder);
  std::error_code error;
  if (!fs::is_regular_file(root / kDockerfile, error)) {
    return absl::NotFoundError(fmt::format("{} has no file {}", folder, kDockerfile));
  }
  const absl::StatusOr<IgnoreRules> rules = ReadRules(root / kIgnoreFile);
  if (!rules.ok()) return rules.status();
  const absl::StatusOr<Entries> entries = ListEntries(root, *rules);
  if (!entries.ok()) return entries.status();
  ContextTar result;
  const auto append = [&result, &folder](std::string_view bytes) -> absl::Status {
    if (result.bytes.size() + bytes.size() > kMaxContextBytes) {
      return absl::InvalidArgumentError(
          fmt::format("{} holds more than {} MiB: name what a build does not need in {}", folder,
                      kMaxContextBytes >> 20, kIgnoreFile));
    }
    result.bytes += bytes;
    return absl::OkStatus();
  };
  TarWriter tar(append);
  for (const auto& [path, type] : *entries) {
    if (absl::Status s = AddEntry(tar, root, path, type); !s.ok()) return s;
  }
  if (absl::Status s = tar.Finish(); !s.ok()) return s;
  result.sha256 = Sha256Hex(result.bytes);
  return result;
}

}  // namespace fetchbench::docker
