#include "coordinator/targets/targets_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/ui/box_table.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {

std::string TargetsText(const TargetRegistry& registry, const TextStyle& style) {
  BoxTable table({{"target", Align::kLeft},
                  {"also", Align::kLeft},
                  {"language", Align::kLeft},
                  {"method", Align::kLeft},
                  {"concurrency", Align::kRight}});
  std::string plain;
  const auto safe = [&](const std::string& text) { return Harmless(text, !style.utf8); };
  for (const TargetInfo& target : registry.targets()) {
    const std::string aliases = fmt::format("{}", fmt::join(target.aliases, ", "));
    table.AddRow({safe(target.name), safe(aliases), safe(target.language), safe(target.method),
                  fmt::format("{}", target.concurrency)});
    plain += fmt::format("{}{}{}  {}, {}, concurrency {}\n", safe(target.name),
                         aliases.empty() ? "" : " = ", safe(aliases), safe(target.language),
                         safe(target.method), target.concurrency);
  }
  if (table.Width() > style.width) return plain;
  std::string text;
  for (const std::string& line : table.Lines(style.utf8)) text += line + "\n";
  return text;
}

}  // namespace fetchbench::coordinator
