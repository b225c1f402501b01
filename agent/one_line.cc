#include "agent/one_line.h"

#include "common/utf8.h"

namespace fetchbench::agent {

std::string OneLine(std::string_view text, size_t most) {
  std::string line = ValidUtf8(text.substr(0, most));
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return line;
}

}  // namespace fetchbench::agent
