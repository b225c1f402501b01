#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fetchbench::agent {

// The first `most` bytes with control characters, and bytes that are not UTF-8, replaced by '?':
// for a log, where each event is one line.
std::string OneLine(std::string_view text, size_t most);

}  // namespace fetchbench::agent
