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

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The text with `replacement`, which is UTF-8, for each byte that is no part of a character. A
// protobuf string or JSON that is not UTF-8 makes the receiver reject the whole message, and the
// words of peers, targets and hosts may be anything. With one character of ASCII for it the text
// gets no longer. Pure.
std::string ValidUtf8(std::string_view text, std::string_view replacement = "?");

}  // namespace fetchbench
