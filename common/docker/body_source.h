#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace fetchbench::docker {

// A request's body that is read piece by piece, so that an archive need not be in memory.
struct BodySource {
  uint64_t size = 0;
  // Fills up to `size` bytes at `data` with what comes next; 0 only at the end. May block on a
  // file.
  std::function<absl::StatusOr<size_t>(char* data, size_t size)> read;
};

BodySource BodyFromString(std::string bytes);

// Of an open file, from its beginning, by a copy of the descriptor. The file must not change
// meanwhile.
absl::StatusOr<BodySource> BodyFromFile(int fd);

}  // namespace fetchbench::docker
