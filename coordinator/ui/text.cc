#include "coordinator/ui/text.h"

#include <fmt/format.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/utf8.h"

namespace fetchbench::coordinator {
namespace {

// Character widths as glibc knows them, of Unicode's own locale: the process's may not be UTF-8.
class UnicodeLocale {
 public:
  UnicodeLocale() {
    static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (unicode != nullptr) previous_ = uselocale(unicode);
  }
  ~UnicodeLocale() {
    if (previous_ != nullptr) uselocale(previous_);
  }
  UnicodeLocale(const UnicodeLocale&) = delete;
  UnicodeLocale& operator=(const UnicodeLocale&) = delete;

 private:
  locale_t previous_ = nullptr;
};

int WidthOf(const Utf8Character& c) {
  if (!c.valid || c.code < 0x80) return 1;
  const UnicodeLocale locale;
  const int width = wcwidth(static_cast<wchar_t>(c.code));
  return width < 0 ? 1 : width;
}

// Length of the colour sequence that `text` starts with; 0 when it does not.
size_t ColourSequence(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    if (const size_t colour = ColourSequence(text); colour > 0) {
      text.remove_prefix(colour);
      continue;
    }
    const Utf8Character c = DecodeUtf8(text);
    width += WidthOf(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string CutTo(std::string_view text, int columns, bool utf8) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  const std::string_view dots = utf8 ? "…" : "...";
  const int room = std::max(0, columns - DisplayWidth(dots));
  std::string out;
  int width = 0;
  bool cut = false;
  while (!text.empty()) {
    if (const size_t colour = ColourSequence(text); colour > 0) {
      out += text.substr(0, colour);  // also behind the cut: the last one switches colour off
      text.remove_prefix(colour);
      continue;
    }
    const Utf8Character c = DecodeUtf8(text);
    width += WidthOf(c);
    if (!cut && width > room) {
      cut = true;
      out += dots.substr(0, utf8 && columns > 0 ? dots.size() : std::max(0, columns));
    }
    if (!cut) out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string PadRight(std::string_view text, int columns) {
  const int missing = std::max(0, columns - DisplayWidth(text));
  return std::string(text) + std::string(static_cast<size_t>(missing), ' ');
}

std::string PadLeft(std::string_view text, int columns) {
  const int missing = std::max(0, columns - DisplayWidth(text));
  return std::string(static_cast<size_t>(missing), ' ') + std::string(text);
}

std::vector<std::string> WrapWords(std::string_view text, int columns) {
  columns = std::max(columns, 1);
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    std::string word(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > columns) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += line.empty() ? "" : " ";
    line += word;
    while (DisplayWidth(line) > columns) {  // one word longer than a line: broken where it must be
      size_t bytes = 0;
      for (int width = 0; bytes < line.size();) {
        const Utf8Character c = DecodeUtf8(std::string_view(line).substr(bytes));
        width += WidthOf(c);
        if (width > columns && bytes > 0) break;
        bytes += c.bytes;
      }
      if (bytes == line.size()) break;  // a wide character in one column
      lines.push_back(line.substr(0, bytes));
      line.erase(0, bytes);
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string HidePassword(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const size_t at = url.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string(url);
  const size_t colon = url.find(':', begin);
  if (colon == std::string_view::npos || colon > at) return std::string(url);
  return std::string(url.substr(0, colon + 1)) + "***" + std::string(url.substr(at));
}

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kSpecial = " '\"\\$`&|;<>()*?[]#~!{}\t\n";
  if (!text.empty() && text.find_first_of(kSpecial) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string MarkdownText(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string clean;
  for (const char c : Harmless(line)) {
    // A backslash too: one before a bar would make our own a plain character.
    if (c == '|' || c == '<' || c == '>' || c == '\\') clean += '\\';
    clean += c;
  }
  return clean;
}

}  // namespace fetchbench::coordinator
