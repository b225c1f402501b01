#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/record.h"

namespace fetchbench {

// A record as a target prints it: with the URL that it was given, byte for byte, and without an
// index.
struct TargetLine {
  std::string url;
  Record record;
};

// Appends `url,code,start_time,duration,body_length` and a newline: code is a three-digit status or
// an error text without commas and newlines, start_time RFC 3339 UTC with microseconds, duration
// milliseconds with three decimals.
void AppendPlainLine(std::string& out, std::string_view url, const Record& record);

// Appends one JSON object and a newline, with the field names of design "The record": url, outcome,
// status, error, start, duration_ms, dns_ms, connect_ms, tls_ms, first_byte_ms, body_bytes,
// wire_bytes, redirects, remote_address, http_version, tls_version. Fields not told are left out.
// Bytes of the URL that are not UTF-8 pass through.
void AppendJsonLine(std::string& out, std::string_view url, const Record& record);

// The reverse of each; `line` comes without its newline. A plain line's last four fields are found
// from the right, because URLs may hold commas. An outcome name in the code field gives that
// outcome; any other text gives kClientError with the text kept. InvalidArgument says which field
// is wrong.
absl::StatusOr<TargetLine> ParsePlainLine(std::string_view line);
absl::StatusOr<TargetLine> ParseJsonLine(std::string_view line);

// "2026-01-31T23:59:59.123456Z" <-> microseconds since the Unix epoch. Parsing accepts 0 to 9
// decimals (cut to microseconds) and numeric zone offsets.
void AppendRfc3339(std::string& out, int64_t us);
absl::StatusOr<int64_t> ParseRfc3339(std::string_view text);

}  // namespace fetchbench
