#pragma once

#include <string>

namespace fetchbench {

// The whole of a file, such as one of /proc; empty when it cannot be read. For files whose absence
// says as much as an empty one.
std::string ReadWholeFile(const std::string& path);

// Where temporary files go: TMPDIR, or /tmp when that is not set or names no folder.
std::string TemporaryFolder();

}  // namespace fetchbench
