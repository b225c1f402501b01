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

// Writes all of `text`, also to a descriptor that does not block. A reader that had enough (EPIPE)
// is no error; a full disk is. Waits `patience` at most for each piece, without it for ever;
// DeadlineExceeded then. SIGPIPE must be ignored or wanted. Any thread.
absl::Status WriteText(int fd, std::string_view text,
                       std::optional<std::chrono::milliseconds> patience = std::nullopt);

}  // namespace fetchbench
