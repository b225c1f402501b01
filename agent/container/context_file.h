#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/docker/body_source.h"
#include "common/docker/context_check.h"
#include "common/docker/sha256.h"
#include "common/temporary_file.h"

namespace fetchbench::agent {

// A build context on its way in: gathered in a temporary file that has no name, so nothing is left
// behind however this ends. Bounded by docker::kMaxContextBytes, and looked through as it comes.
class ContextFile {
 public:
  // `bytes`: as announced.
  static absl::StatusOr<ContextFile> Open(uint64_t bytes);

  // ResourceExhausted: more than announced, or too many entries. InvalidArgument: an empty piece,
  // or something that has no place in such an archive (common/docker/context_check.h).
  absl::Status Append(std::string_view bytes);
  // The whole of it. DataLoss: not what `sha256` (hex) says.
  absl::StatusOr<docker::BodySource> Close(const std::string& sha256);

 private:
  TemporaryFile file_;
  docker::Sha256 hash_;
  docker::ContextCheck check_;
  uint64_t left_ = 0;
};

}  // namespace fetchbench::agent
