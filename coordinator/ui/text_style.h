#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace fetchbench::coordinator {

// What the place that text goes to can show.
struct TextStyle {
  int width = 80;       // columns
  int height = 24;      // rows
  bool colour = false;  // ANSI SGR sequences
  bool utf8 = true;     // else ASCII stands in for boxes, bars and dots
};

// A look-up of environment variables; std::getenv behind it in the program, a map in tests.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment ProcessEnvironment();

// Colour: only on a terminal, not with a non-empty NO_COLOR (no-color.org), nor TERM unset or
// "dumb".
bool WantsColour(bool is_terminal, const Environment& env);

// Whether the locale's character set is UTF-8, by LC_ALL, LC_CTYPE, LANG: the first that is set.
bool IsUtf8Locale(const Environment& env);

}  // namespace fetchbench::coordinator
