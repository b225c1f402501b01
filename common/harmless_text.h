#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fetchbench {

struct Utf8Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;  // else one byte that is not UTF-8
};

// The first character of `text`, which is not empty. Strict: no overlong forms, no surrogates.
// Pure.
Utf8Character DecodeUtf8(std::string_view text);

// Text from outside (URLs, error texts, host names), fit for a terminal: control characters (C0,
// DEL, C1, so every escape sequence), direction marks and overrides, line separators and bytes that
// are not UTF-8 become \xNN or \u{N}; with `ascii`, so does every character beyond ASCII. Pure.
std::string Harmless(std::string_view text, bool ascii = false);

}  // namespace fetchbench
