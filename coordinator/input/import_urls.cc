#include "coordinator/input/import_urls.h"

#include <algorithm>

#include "coordinator/input/url_normalize.h"

namespace fetchbench::coordinator {
namespace {

std::string_view TrimLine(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return line;
}

// Field `number` (from 0) of a CSV line. Quotes around a field go away; host names and ranks hold
// no quote, so a doubled one inside is not looked for.
std::string_view Field(std::string_view line, int number) {
  while (true) {
    std::string_view field;
    size_t after = 0;
    if (line.starts_with('"')) {
      const size_t quote = std::min(line.find('"', 1), line.size());
      field = line.substr(1, quote - 1);
      after = std::min(line.find(',', quote), line.size());
    } else {
      after = std::min(line.find(','), line.size());
      field = line.substr(0, after);
    }
    if (number-- == 0) return field;
    if (after >= line.size()) return {};
    line.remove_prefix(after + 1);
  }
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int FieldOf(ListFormat format) {
  switch (format) {
    case ListFormat::kMajestic:
      return 2;
    case ListFormat::kCrux:
      return 0;
    default:
      return 1;
  }
}

}  // namespace

std::optional<ListFormat> ParseListFormat(std::string_view word) {
  if (word == "domcop") return ListFormat::kDomcop;
  if (word == "tranco") return ListFormat::kTranco;
  if (word == "umbrella") return ListFormat::kUmbrella;
  if (word == "majestic") return ListFormat::kMajestic;
  if (word == "crux") return ListFormat::kCrux;
  return std::nullopt;
}

std::optional<ListFormat> GuessListFormat(std::string_view first_line) {
  const std::string_view line = TrimLine(first_line);
  const std::string_view first = Field(line, 0);
  if (first == "Rank" && Field(line, 1) == "Domain") return ListFormat::kDomcop;
  if (first == "GlobalRank") return ListFormat::kMajestic;
  if (first == "origin") return ListFormat::kCrux;
  if (IsNumber(first) && !Field(line, 1).empty()) {
    return line.starts_with('"') ? ListFormat::kDomcop : ListFormat::kTranco;
  }
  if (first.starts_with("http://") || first.starts_with("https://")) return ListFormat::kCrux;
  return std::nullopt;
}

std::optional<std::string> ImportLine(ListFormat format, std::string_view line) {
  line = TrimLine(line);
  // Every list has a number beside the name; a header and rubbish have none.
  const int rank = format == ListFormat::kCrux ? 1 : 0;
  if (!IsNumber(Field(line, rank))) return std::nullopt;
  const std::string_view name = Field(line, FieldOf(format));
  ListLine entry;
  ParseListLine(name, entry);
  if (entry.kind != LineKind::kUrl) return std::nullopt;
  return std::move(entry.url);
}

}  // namespace fetchbench::coordinator
