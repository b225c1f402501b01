#pragma once

#include <string>
#include <string_view>

namespace fetchbench {

// Text from outside (URLs, error texts, host names), fit for a terminal: control characters (C0,
// DEL, C1, so every escape sequence), direction marks and overrides, line separators and bytes that
// are not UTF-8 become \xNN or \u{N}; with `ascii`, so does every character beyond ASCII. Pure.
std::string Harmless(std::string_view text, bool ascii = false);

}  // namespace fetchbench
