#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fetchbench::coordinator {

// A longer URL is invalid_url: no server that we know takes one, and leases must fit into a
// message.
inline constexpr size_t kMaxUrlBytes = 64 * 1024;
// Of a line that is no URL, so much is kept and shown.
inline constexpr size_t kMaxKeptLineBytes = 2048;

enum class LineKind : uint8_t { kBlank, kUrl, kInvalid };

// One line of a URL list, understood. Reused from line to line, so that reading allocates little.
struct ListLine {
  LineKind kind = LineKind::kBlank;
  bool https = true;
  std::string url;   // kUrl: as it goes to the target. kInvalid: the start of the line
  std::string host;  // kUrl: lower case, IDN as ACE, no brackets, no port: what partitions go by
  bool address =
      false;  // kUrl: the host is no name to resolve: an IP address however written, localhost
  std::string reason;  // kInvalid: what is wrong, for a person
};

// Understands one line (without its newline) as curl 7.88 understands its argument, except that a
// missing scheme means https and that schemes other than http and https are invalid. Blank lines
// and lines whose first visible character is '#' are kBlank. White space around the URL goes away.
//
// The URL stays as written (upper case, port, userinfo, IDN, fragment: a client leaves that one out
// of the request) apart from its scheme, which becomes lower case with two slashes. Pure.
void ParseListLine(std::string_view text, ListLine& line);

// Makes a kUrl line kInvalid, for `reason`.
void Refuse(ListLine& line, std::string reason);

}  // namespace fetchbench::coordinator
