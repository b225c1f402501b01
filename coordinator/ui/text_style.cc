#include "coordinator/ui/text_style.h"

#include <strings.h>

#include <cstdlib>

namespace fetchbench::coordinator {

Environment ProcessEnvironment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

bool WantsColour(bool is_terminal, const Environment& env) {
  if (!is_terminal) return false;
  if (!env("NO_COLOR").value_or("").empty()) return false;
  const std::string term = env("TERM").value_or("");
  return !term.empty() && term != "dumb";
}

bool IsUtf8Locale(const Environment& env) {
  for (const std::string_view name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = env(name).value_or("");
    if (value.empty()) continue;
    const size_t dot = value.find('.');
    if (dot == std::string::npos) return false;
    const std::string codeset = value.substr(dot + 1, value.find('@') - dot - 1);
    return strcasecmp(codeset.c_str(), "UTF-8") == 0 || strcasecmp(codeset.c_str(), "UTF8") == 0;
  }
  return false;
}

}  // namespace fetchbench::coordinator
