#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fetchbench::coordinator {

// Text from outside (URLs, error texts, host names), fit for a terminal: control characters (C0,
// DEL, C1, so every escape sequence), bidirectional overrides, line separators and bytes that are
// not UTF-8 become \xNN or \u{N}; with `ascii`, so does every character beyond ASCII. Pure.
std::string Harmless(std::string_view text, bool ascii = false);

// Columns that `text` takes on a terminal: combining marks none, East Asian wide characters and
// emoji two. SGR colour sequences ("\x1b[...m") take none. Text is UTF-8; a byte that is not counts
// as one.
int DisplayWidth(std::string_view text);

// The longest beginning of `text` that fits into `columns`, with an ellipsis ("...", or one
// character with utf8) when something was cut; colour sequences are kept whole and all of them are
// kept.
std::string CutTo(std::string_view text, int columns, bool utf8);

// Filled up with spaces to `columns`; a longer text stays as it is.
std::string PadRight(std::string_view text, int columns);
std::string PadLeft(std::string_view text, int columns);

// "10,000"
std::string Grouped(uint64_t value);
// "0.83 ms", "12.3 ms", "680 ms", "5.02 s", "1 m 40 s", "2 h 05 m": three figures or so.
std::string HumanDuration(double us);
// "0 B", "999 B", "34.2 kB", "2.56 GB": powers of 1000.
std::string HumanBytes(double bytes);
// "0.42", "12.3", "1,234": three figures below a thousand.
std::string HumanNumber(double value);

// "https://user:secret@host/" -> "https://user:***@host/".
std::string HidePassword(std::string_view url);

}  // namespace fetchbench::coordinator
