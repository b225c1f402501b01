#include "agent/container/context_file.h"

#include <fmt/format.h>

#include "common/docker/context_tar.h"
#include "common/files.h"

namespace fetchbench::agent {

absl::StatusOr<ContextFile> ContextFile::Open(uint64_t bytes) {
  if (bytes == 0 || bytes > docker::kMaxContextBytes) {
    return absl::InvalidArgumentError(
        fmt::format("a target's folder of {} bytes: 1 to {}", bytes, docker::kMaxContextBytes));
  }
  auto file = TemporaryFile::Make(TemporaryFolder(), "a target's folder");
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
  return file_.Append(bytes);
}

absl::StatusOr<docker::BodySource> ContextFile::Close(const std::string& sha256) {
  const std::string digest = hash_.HexDigest();
  if (left_ != 0 || digest != sha256) {
    return absl::DataLossError(fmt::format(
        "the target's folder did not arrive whole ({} bytes are missing; SHA-256 {}, announced {})",
        left_, digest, sha256));
  }
  if (absl::Status s = check_.End(); !s.ok()) return s;
  return docker::BodyFromFile(file_.fd());
}

}  // namespace fetchbench::agent
