#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/harmless_text.h"

namespace fetchbench::coordinator {

// Columns that `text` takes on a terminal: combining marks none, East Asian wide characters and
// emoji two. Colour sequences ("\x1b[...m") take none. A byte that is not UTF-8 counts as one.
int DisplayWidth(std::string_view text);

// The longest beginning of `text` that fits into `columns`, with an ellipsis (one character, or
// "..." without `utf8`) when something was cut. All colour sequences are kept.
std::string CutTo(std::string_view text, int columns, bool utf8);

// Filled up with spaces to `columns`; a longer text stays as it is.
std::string PadRight(std::string_view text, int columns);
std::string PadLeft(std::string_view text, int columns);

// Lines of at most `columns`, broken at spaces, and inside a word only when it is longer than a
// line.
std::vector<std::string> WrapWords(std::string_view text, int columns);

// Text from outside, fit for a cell of a Markdown table: one line, Harmless, without bars that
// would end the cell and brackets that would be HTML. Pure.
std::string MarkdownText(std::string_view text);

// `text` as one word of a shell's command line, quoted where it has to be. Pure.
std::string ShellWord(const std::string& text);

// "https://user:secret@host/" -> "https://user:***@host/".
std::string HidePassword(std::string_view url);

}  // namespace fetchbench::coordinator
