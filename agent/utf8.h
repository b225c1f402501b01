#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fetchbench::agent {

// The text with every byte that is no part of a UTF-8 character replaced by '?'. A protobuf string
// that is not UTF-8 makes the receiver reject the whole message, and a target's words may be
// anything.
std::string ValidUtf8(std::string_view text);

// The first `most` bytes with control characters replaced by '?': for a log, where each event is
// one line.
std::string OneLine(std::string_view text, size_t most);

}  // namespace fetchbench::agent
