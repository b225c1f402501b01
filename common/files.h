#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench {

// Of what people write: settings, Dockerfiles, lists of rules.
inline constexpr size_t kMaxTextFileBytes = 16 << 20;

// The whole of a file, such as one of /proc; empty when it cannot be read. For files whose absence
// says as much as an empty one.
std::string ReadWholeFile(const std::string& path);

// The whole of a file that somebody wrote or named. Errors name it: NotFound, PermissionDenied,
// InvalidArgument (a folder, or longer than `max_bytes`), Unavailable. A pipe is read to its end.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = kMaxTextFileBytes);

// For what must be a file of its folder, links to files included: NotFound, or InvalidArgument for
// a folder, a pipe, a device. Opens nothing, so that nothing is waited for.
absl::Status CheckIsFile(const std::string& path);

// Where temporary files go, from the root: TMPDIR, or /tmp when that is not set or names no folder.
std::string TemporaryFolder();

}  // namespace fetchbench
