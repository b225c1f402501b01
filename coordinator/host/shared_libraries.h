#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::coordinator {

// The dynamic loader that a 64-bit ELF program names; empty: it is linked statically.
// InvalidArgument: no such program. Pure; `bytes` is the file's beginning.
absl::StatusOr<std::string> LoaderOf(std::string_view bytes);

// Paths of the files in the output of `ld.so --list`; NotFound names a library that is missing.
// Pure.
absl::StatusOr<std::vector<std::string>> ParseLibraryList(std::string_view text);

// Absolute paths of all that the program needs to run, its loader among them: as `ldd` tells, by
// running the loader. Blocks for some milliseconds. NotFound or PermissionDenied: it cannot be
// read.
absl::StatusOr<std::vector<std::string>> SharedLibraries(const std::string& program);

}  // namespace fetchbench::coordinator
