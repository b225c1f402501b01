#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace fetchbench::docker {

// What one build context holds at most; also what an agent takes.
inline constexpr size_t kMaxContextBytes = 64 << 20;
inline constexpr size_t kMaxContextFiles = 20'000;

struct ContextTar {
  std::string bytes;   // a whole tar archive
  std::string sha256;  // of it, hex
};

// The archive of a folder for a build: files in the order of their paths, .dockerignore honoured
// (the Dockerfile and .dockerignore themselves are always in), symbolic links kept as links when
// they stay inside. Equal folders give equal bytes. Blocks. InvalidArgument: a link that leads out,
// a device, socket or pipe, rules that are no file, too large; NotFound: no such folder or no
// Dockerfile in it.
absl::StatusOr<ContextTar> PackContext(const std::string& folder);

}  // namespace fetchbench::docker
