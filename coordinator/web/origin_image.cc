#include "coordinator/web/origin_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "common/blocking.h"
#include "common/docker/old_images.h"
#include "common/docker/sha256.h"
#include "common/docker/tar_writer.h"
#include "common/files.h"
#include "common/status_util.h"
#include "coordinator/host/shared_libraries.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kTagDigits = 16;
// The origin runs as a number; a name for it keeps what asks for one content.
constexpr const char* kPasswd =
    "root:x:0:0:root:/:/nowhere\nnobody:x:65534:65534:nobody:/:/nowhere\n";

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status AddSource(docker::TarWriter& tar, const std::string& path,
                       const OriginRoot::File& file) {
  const OpenFile source(open(file.source.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (source.fd() < 0 || fstat(source.fd(), &info) != 0) {
    return FromErrno(errno, fmt::format("packing {}", file.source));
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (absl::Status s = tar.BeginFile(path, size, file.executable); !s.ok()) return s;
  std::string piece(kPieceBytes, '\0');
  for (uint64_t done = 0; done < size;) {
    const ssize_t n =
        read(source.fd(), piece.data(), std::min<uint64_t>(piece.size(), size - done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, fmt::format("packing {}", file.source));
    if (n == 0) return absl::AbortedError(fmt::format("{} changed while packing", file.source));
    done += static_cast<uint64_t>(n);
    if (absl::Status s = tar.AppendToFile({piece.data(), static_cast<size_t>(n)}); !s.ok()) {
      return s;
    }
  }
  return tar.EndFile();
}

absl::Status WriteRoot(const OriginRoot& root, docker::TarWriter::Out out) {
  docker::TarWriter tar(std::move(out));
  std::set<std::string> folders;
  for (const auto& [path, file] : root.files) {
    for (fs::path up = fs::path(path).parent_path(); !up.empty(); up = up.parent_path()) {
      folders.insert(up.string());
    }
  }
  for (const std::string& folder : folders) {
    if (absl::Status s = tar.AddFolder(folder); !s.ok()) return s;
  }
  for (const auto& [path, file] : root.files) {
    const absl::Status added = file.source.empty() ? tar.AddFile(path, file.text, file.executable)
                                                   : AddSource(tar, path, file);
    if (!added.ok()) return added;
  }
  return tar.Finish();
}

// The archive in a file without a name.
absl::StatusOr<docker::BodySource> ArchiveOf(const OriginRoot& root) {
  const std::string folder = TemporaryFolder();
  std::string path = folder + "/fetchbench-origin-XXXXXX";
  const OpenFile file(mkostemp(path.data(), O_CLOEXEC));
  if (file.fd() < 0) return FromErrno(errno, fmt::format("cannot make a file in {}", folder));
  unlink(path.c_str());
  const absl::Status written = WriteRoot(root, [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(file.fd(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FromErrno(errno, fmt::format("writing {}", path));
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  });
  if (!written.ok()) return written;
  return docker::BodyFromFile(file.fd());
}

std::vector<std::string> ImageChanges(const OriginRoot& root) {
  std::vector<std::string> changes{"ENTRYPOINT [\"/fetchbench-origin\"]", "USER 65534:65534",
                                   "LABEL fetchbench.origin=" FETCHBENCH_VERSION};
  if (!root.library_folders.empty()) {
    changes.push_back(fmt::format("ENV LD_LIBRARY_PATH={}", fmt::join(root.library_folders, ":")));
  }
  return changes;
}

}  // namespace

absl::StatusOr<OriginRoot> MakeOriginRoot(const std::string& program, const std::string& profiles) {
  OriginRoot root;
  const auto libraries = SharedLibraries(program);
  if (!libraries.ok()) return libraries.status();
  root.files["fetchbench-origin"] = {program, "", true};
  root.files["etc/passwd"] = {"", kPasswd, false};
  std::set<std::string> folders;
  for (const std::string& library : *libraries) {
    root.files[library.substr(1)] = {library, "", true};
    folders.insert(fs::path(library).parent_path().string());
  }
  root.library_folders.assign(folders.begin(), folders.end());
  std::error_code error;
  for (fs::directory_iterator it(profiles, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".json") continue;
    root.files["profiles/" + it->path().filename().string()] = {it->path().string(), "", false};
  }
  if (error) return absl::NotFoundError(fmt::format("{}: {}", profiles, error.message()));
  docker::Sha256 sum;
  for (const std::string& change : ImageChanges(root)) sum.Update(change);
  const absl::Status read = WriteRoot(root, [&sum](std::string_view bytes) {
    sum.Update(bytes);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  root.sha256 = sum.HexDigest();
  return root;
}

Task<absl::StatusOr<std::string>> EnsureOriginImage(docker::EngineClient engine,
                                                    std::string program, std::string profiles) {
  const auto make = [&] { return MakeOriginRoot(program, profiles); };
  const auto root = co_await RunBlocking(engine.loop(), make);
  if (!root.ok()) co_return root.status();
  const std::string tag = root->sha256.substr(0, kTagDigits);
  const std::string reference = fmt::format("{}:{}", kOriginRepository, tag);
  const auto there = co_await engine.InspectImage(reference);
  if (there.ok()) {
    // Anew, or another program here would take it for one that nobody uses any more.
    const absl::Status tagged =
        co_await engine.TagImage(there->id, std::string(kOriginRepository), tag);
    if (!tagged.ok()) co_return tagged;
    co_return reference;
  }
  if (!absl::IsNotFound(there.status())) co_return there.status();
  const auto pack = [&root] { return ArchiveOf(*root); };
  auto archive = co_await RunBlocking(engine.loop(), pack);
  if (!archive.ok()) co_return archive.status();
  const auto imported = co_await engine.ImportImage(
      *std::move(archive), std::string(kOriginRepository), tag, ImageChanges(*root));
  if (!imported.ok()) co_return imported.status();
  co_await docker::RemoveSupersededImages(engine, std::string(kOriginRepository), reference,
                                          docker::WallNow());
  co_return reference;
}

}  // namespace fetchbench::coordinator
