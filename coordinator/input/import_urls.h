#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fetchbench::coordinator {

// Published lists of domains, as their CSV files are.
enum class ListFormat : uint8_t {
  kDomcop,    // "Rank","Domain","Open Page Rank" and a header
  kTranco,    // rank,domain; no header
  kUmbrella,  // the same
  kMajestic,  // GlobalRank,TldRank,Domain,TLD,... and a header
  kCrux,      // origin,rank and a header; origins are URLs
};

// Empty for a word that is none.
std::optional<ListFormat> ParseListFormat(std::string_view word);

// By the first line of a file; empty when it looks like none of them.
std::optional<ListFormat> GuessListFormat(std::string_view first_line);

// The URL of one line of such a file, without newline; empty for a header, and for a line that
// holds no host name. Pure.
std::optional<std::string> ImportLine(ListFormat format, std::string_view line);

}  // namespace fetchbench::coordinator
