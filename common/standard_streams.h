#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace fetchbench {

// Gives each of standard input, output and error that we were started without a place: nothing to
// read, writes that fail, writes that vanish. Otherwise the next file, socket or pipe would get its
// number, be read as input, written to as output, or close itself in a child. First in main().
void OpenStandardStreams();

// Writes all of `text`, also to a descriptor that does not block. A full disk is an error.
// Cancelled: the reader had enough (EPIPE). Waits `patience` at most for each piece, without it for
// ever; DeadlineExceeded then. SIGPIPE must be ignored or wanted. Any thread.
absl::Status WriteToReader(int fd, std::string_view text,
                           std::optional<std::chrono::milliseconds> patience = std::nullopt);

// The same, to whom a reader that had enough is no error.
absl::Status WriteText(int fd, std::string_view text,
                       std::optional<std::chrono::milliseconds> patience = std::nullopt);

// What a program exits with when what it was asked for could not be written.
inline constexpr int kCannotPrint = 1;

// Prints on standard output what `program` was asked for, and is `code`; or kCannotPrint, and says
// on standard error why.
int PrintOutput(std::string_view program, std::string_view text, int code = 0);

}  // namespace fetchbench
