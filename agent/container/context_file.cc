#include "agent/container/context_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "common/docker/context_tar.h"
#include "common/files.h"
#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

absl::StatusOr<Fd> OpenNameless() {
  const std::string folder = TemporaryFolder();
  Fd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  std::string path = folder + "/fetchbench-context-XXXXXX";  // not every file system can
  Fd named(mkostemp(path.data(), O_CLOEXEC));
  if (!named.valid()) return FromErrno(errno, "making a temporary file in " + folder);
  unlink(path.c_str());
  return named;
}

}  // namespace

absl::StatusOr<ContextFile> ContextFile::Open(uint64_t bytes) {
  if (bytes == 0 || bytes > docker::kMaxContextBytes) {
    return absl::InvalidArgumentError(
        fmt::format("a target's folder of {} bytes: 1 to {}", bytes, docker::kMaxContextBytes));
  }
  absl::StatusOr<Fd> file = OpenNameless();
  if (!file.ok()) return file.status();
  ContextFile context;
  context.file_ = *std::move(file);
  context.left_ = bytes;
  return context;
}

absl::Status ContextFile::Append(std::string_view bytes) {
  // One after the other, they would hold a call open for ever.
  if (bytes.empty()) return absl::InvalidArgumentError("an empty piece of the target's folder");
  if (bytes.size() > left_) {
    return absl::ResourceExhaustedError("the target's folder is larger than was announced");
  }
  left_ -= bytes.size();
  hash_.Update(bytes);
  if (absl::Status s = check_.Feed(bytes); !s.ok()) return s;
  while (!bytes.empty()) {
    const ssize_t n = write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return FromErrno(errno, "writing a target's folder to a file");
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<docker::BodySource> ContextFile::Close(const std::string& sha256) {
  const std::string digest = hash_.HexDigest();
  if (left_ != 0 || digest != sha256) {
    return absl::DataLossError(fmt::format(
        "the target's folder did not arrive whole ({} bytes are missing; SHA-256 {}, announced {})",
        left_, digest, sha256));
  }
  if (absl::Status s = check_.End(); !s.ok()) return s;
  return docker::BodyFromFile(file_.get());
}

}  // namespace fetchbench::agent
