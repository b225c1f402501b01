#include "common/harmless_text.h"

#include <fmt/format.h>

#include "common/utf8.h"

namespace fetchbench {
namespace {

// Would move the cursor, start an escape sequence, break the line or turn its direction around.
bool IsDangerous(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
  if (c == 0x061C || c == 0x200E || c == 0x200F) return true;  // direction marks
  if (c >= 0x2028 && c <= 0x202E) return true;                 // separators, embeddings, overrides
  return c >= 0x2066 && c <= 0x2069;                           // isolates
}

}  // namespace

std::string Harmless(std::string_view text, bool ascii) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character c = DecodeUtf8(text);
    if (!c.valid || (c.code < 0x80 && IsDangerous(c.code))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    } else if (IsDangerous(c.code) || (ascii && c.code >= 0x80)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c.code));
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace fetchbench
