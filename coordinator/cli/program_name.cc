#include "coordinator/cli/program_name.h"

#include <fmt/format.h>

#include <vector>

#include "coordinator/cli/manual.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr const char* kUsual = "coordinator";

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string ProgramName(const Environment& env) {
  const std::string given = env("FETCHBENCH_PROGRAM_NAME").value_or("");
  return given.empty() ? kUsual : ShellWord(given);
}

std::string UnderName(std::string page, const std::string& name) {
  if (name == kUsual) return page;
  std::vector<std::string> words = CommandNames();
  words.insert(words.end(), {"COMMAND", "--version"});
  for (const std::string& word : words) {
    // With what is before it: not within a name.
    for (const char before : {' ', '`'}) {
      ReplaceAll(page, fmt::format("{}{} {}", before, kUsual, word),
                 fmt::format("{}{} {}", before, name, word));
    }
  }
  return page;
}

}  // namespace fetchbench::coordinator
