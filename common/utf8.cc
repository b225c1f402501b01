#include "common/utf8.h"

namespace fetchbench {

Utf8Character DecodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  size_t length = 0;
  char32_t code = 0;
  char32_t smallest = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2, code = first & 0x1F, smallest = 0x80;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3, code = first & 0x0F, smallest = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4, code = first & 0x07, smallest = 0x10000;
  }
  if (length == 0 || text.size() < length) return {first, 1, false};
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) return {first, 1, false};
  return {code, length, true};
}

std::string ValidUtf8(std::string_view text, std::string_view replacement) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    out += c.valid ? text.substr(0, c.bytes) : replacement;
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace fetchbench
