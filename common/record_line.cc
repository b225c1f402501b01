#include "common/record_line.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/status/status.h"

namespace fetchbench {
namespace {

namespace json = boost::json;

constexpr int64_t kUsPerSecond = 1'000'000;

void AppendMs(std::string& out, int64_t us) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}{}.{:03}"), us < 0 ? "-" : "",
                 std::abs(us) / 1000, std::abs(us) % 1000);
}

int64_t UsFromMs(double ms) { return std::llround(ms * 1000.0); }

// The plain code field: status, or the error's text with the line's own separators taken out.
void AppendCode(std::string& out, const Record& r) {
  if (r.outcome == Outcome::kStatus) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), r.status);
    return;
  }
  out += OutcomeName(r.outcome);
  if (r.error.empty()) return;
  out += ": ";
  for (const char c : r.error) out += (c == ',' || c == '\n' || c == '\r') ? ' ' : c;
}

// Everything JSON demands to be escaped (RFC 8259, section 7); other bytes pass through.
void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), FMT_COMPILE("\\u{:04x}"), static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void AppendMsField(std::string& out, std::string_view name, int64_t us) {
  if (us == kNotTold) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(",\"{}\":"), name);
  AppendMs(out, us);
}

void AppendTextField(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(",\"{}\":"), name);
  AppendJsonString(out, text);
}

void AppendIntField(std::string& out, std::string_view name, int64_t value) {
  if (value == kNotTold) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(",\"{}\":{}"), name, value);
}

absl::Status BadLine(std::string_view what, std::string_view text) {
  return absl::InvalidArgumentError(
      fmt::format("{} in record line: '{}'", what, text.substr(0, 80)));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsStatusCode(std::string_view code) {
  return code.size() == 3 && code[0] != '0' && IsDigit(code[0]) && IsDigit(code[1]) &&
         IsDigit(code[2]);
}

// The whole text as a number, or false.
template <typename Number>
bool ParseNumber(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end;
}

// "dns_not_found: no such host" -> outcome and text; a text that starts with no outcome name stays
// whole.
void SetFailure(Record& r, std::string_view code) {
  const size_t colon = code.find(':');
  auto outcome = OutcomeFromName(code.substr(0, colon));
  if (outcome == Outcome::kStatus) outcome.reset();  // the class of codes, and no failure
  r.outcome = outcome.value_or(Outcome::kClientError);
  if (!outcome) {
    r.error = std::string(code);
  } else if (colon != std::string_view::npos) {
    std::string_view text = code.substr(colon + 1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    r.error = std::string(text);
  }
}

// Reads typed members of one JSON object and remembers the first that has the wrong type.
class Members {
 public:
  explicit Members(const json::object& object) : object_(object) {}

  std::string Text(std::string_view name) {
    const json::value* v = object_.if_contains(name);
    if (v == nullptr || v->is_null()) return {};
    if (!v->is_string()) return Wrong(name), std::string();
    return std::string(v->get_string());
  }

  double Number(std::string_view name, double missing) {
    const json::value* v = object_.if_contains(name);
    if (v == nullptr || v->is_null()) return missing;
    if (!v->is_number()) return Wrong(name), missing;
    return v->to_number<double>();
  }

  int64_t Integer(std::string_view name, int64_t missing) {
    const double value = Number(name, static_cast<double>(missing));
    if (!(std::abs(value) < static_cast<double>(kFigureLimit))) return Wrong(name), missing;
    return static_cast<int64_t>(value);
  }

  // From `missing`, which is the least value that makes sense, to below `limit`.
  int Small(std::string_view name, int missing, int limit) {
    const int64_t value = Integer(name, missing);
    if (value < missing || value >= limit) return Wrong(name), missing;
    return static_cast<int>(value);
  }

  int64_t Us(std::string_view name) {
    const double ms = Number(name, -1);
    constexpr double kLimitMs = 1e12;
    if (!(ms < kLimitMs)) return Wrong(name), kNotTold;
    return ms < 0 ? kNotTold : UsFromMs(ms);
  }

  const std::string& wrong() const { return wrong_; }

 private:
  void Wrong(std::string_view name) {
    if (wrong_.empty()) wrong_ = std::string(name);
  }

  const json::object& object_;
  std::string wrong_;
};

absl::Status FillFromMembers(Members& m, TargetLine& line) {
  Record& r = line.record;
  line.url = m.Text("url");
  r.status = m.Small("status", 0, 1000);
  r.error = m.Text("error");
  const std::string outcome = m.Text("outcome");
  r.outcome = OutcomeFromName(outcome).value_or(Outcome::kUnspecified);
  if (outcome.empty()) r.outcome = r.status != 0 ? Outcome::kStatus : Outcome::kClientError;
  if (r.outcome == Outcome::kUnspecified) return BadLine("unknown outcome", outcome);
  const std::string start = m.Text("start");
  const auto start_us = ParseRfc3339(start);
  if (!start_us.ok()) return BadLine("bad start", start);
  r.start_us = *start_us;
  r.duration_us = m.Us("duration_ms");
  if (r.duration_us == kNotTold) return BadLine("no duration_ms", line.url);
  r.dns_us = m.Us("dns_ms");
  r.connect_us = m.Us("connect_ms");
  r.tls_us = m.Us("tls_ms");
  r.first_byte_us = m.Us("first_byte_ms");
  r.body_bytes = m.Integer("body_bytes", 0);
  r.wire_bytes = m.Integer("wire_bytes", kNotTold);
  r.redirects = m.Small("redirects", kNotTold, kRedirectsLimit);
  r.remote_address = m.Text("remote_address");
  r.http_version = m.Text("http_version");
  r.tls_version = m.Text("tls_version");
  if (!m.wrong().empty()) return BadLine("wrong type or range of", m.wrong());
  if (r.body_bytes < 0) return BadLine("negative body_bytes", line.url);
  if (r.outcome == Outcome::kStatus && r.status < 100)
    return BadLine("outcome without status", line.url);
  return absl::OkStatus();
}

// One RFC 3339 date-time (section 5.6), read from left to right.
class Rfc3339Reader {
 public:
  explicit Rfc3339Reader(std::string_view text) : rest_(text) {}

  std::optional<int64_t> Read() {
    const int year = Digits(4, 0, 9999);
    Expect("-");
    const int month = Digits(2, 1, 12);
    Expect("-");
    const int day = Digits(2, 1, 31);
    Expect("Tt ");
    const int64_t hour = Digits(2, 0, 23);
    Expect(":");
    const int64_t minute = Digits(2, 0, 59);
    Expect(":");
    const int64_t second = Digits(2, 0, 60);
    const int64_t fraction = Fraction();
    const int64_t offset_minutes = Offset();
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!ok_ || !rest_.empty() || !date.ok()) return std::nullopt;
    const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    const int64_t seconds = ((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
    return seconds * kUsPerSecond + fraction;
  }

 private:
  void Expect(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_[0]) == std::string_view::npos) {
      ok_ = false;
    } else {
      rest_.remove_prefix(1);
    }
  }

  int Digits(size_t count, int low, int high) {
    int value = 0;
    if (rest_.size() < count || !ParseNumber(rest_.substr(0, count), value) || value < low ||
        value > high) {
      ok_ = false;
      return low;
    }
    rest_.remove_prefix(count);
    return value;
  }

  // Microseconds; further decimals are cut off.
  int64_t Fraction() {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    int64_t scale = kUsPerSecond;
    int64_t value = 0;
    ok_ = ok_ && !rest_.empty() && IsDigit(rest_[0]);
    while (!rest_.empty() && IsDigit(rest_[0])) {
      scale /= 10;
      value += (rest_[0] - '0') * scale;
      rest_.remove_prefix(1);
    }
    return value;
  }

  int64_t Offset() {
    if (rest_ == "Z" || rest_ == "z") {
      rest_ = {};
      return 0;
    }
    const int64_t sign = rest_.starts_with('-') ? -1 : 1;
    Expect("+-");
    const int64_t hours = Digits(2, 0, 23);
    Expect(":");
    return sign * (hours * 60 + Digits(2, 0, 59));
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

void AppendRfc3339(std::string& out, int64_t us) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): year_month_day and friends
  const sys_time<microseconds> time{microseconds(us)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z"),
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

absl::StatusOr<int64_t> ParseRfc3339(std::string_view text) {
  Rfc3339Reader reader(text);
  const auto us = reader.Read();
  if (!us)
    return absl::InvalidArgumentError(
        fmt::format("not an RFC 3339 time: '{}'", text.substr(0, 40)));
  return *us;
}

void AppendPlainLine(std::string& out, std::string_view url, const Record& r) {
  out += url;
  out += ',';
  AppendCode(out, r);
  out += ',';
  AppendRfc3339(out, r.start_us);
  out += ',';
  AppendMs(out, r.duration_us);
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(",{}\n"), r.body_bytes);
}

void AppendJsonLine(std::string& out, std::string_view url, const Record& r) {
  out += "{\"url\":";
  AppendJsonString(out, url);
  AppendTextField(out, "outcome", OutcomeName(r.outcome));
  if (r.status != 0) AppendIntField(out, "status", r.status);
  AppendTextField(out, "error", r.error);
  out += ",\"start\":\"";
  AppendRfc3339(out, r.start_us);
  out += "\",\"duration_ms\":";
  AppendMs(out, r.duration_us);
  AppendMsField(out, "dns_ms", r.dns_us);
  AppendMsField(out, "connect_ms", r.connect_us);
  AppendMsField(out, "tls_ms", r.tls_us);
  AppendMsField(out, "first_byte_ms", r.first_byte_us);
  AppendIntField(out, "body_bytes", r.body_bytes);
  AppendIntField(out, "wire_bytes", r.wire_bytes);
  AppendIntField(out, "redirects", r.redirects);
  AppendTextField(out, "remote_address", r.remote_address);
  AppendTextField(out, "http_version", r.http_version);
  AppendTextField(out, "tls_version", r.tls_version);
  out += "}\n";
}

absl::StatusOr<TargetLine> ParsePlainLine(std::string_view line) {
  std::array<std::string_view, 4> fields;  // code, start, duration, body length
  for (size_t i = fields.size(); i-- > 0;) {
    const size_t comma = line.rfind(',');
    if (comma == std::string_view::npos) return BadLine("fewer than five fields", line);
    fields[i] = line.substr(comma + 1);
    line = line.substr(0, comma);
  }
  TargetLine result;
  result.url = std::string(line);
  Record& r = result.record;
  if (IsStatusCode(fields[0])) {
    r.outcome = Outcome::kStatus;
    ParseNumber(fields[0], r.status);
  } else {
    SetFailure(r, fields[0]);
  }
  const auto start = ParseRfc3339(fields[1]);
  if (!start.ok()) return BadLine("bad start time", fields[1]);
  r.start_us = *start;
  double ms = 0;
  constexpr double kLimitMs = 1e12;
  if (!ParseNumber(fields[2], ms) || !(ms >= 0 && ms < kLimitMs))
    return BadLine("bad duration", fields[2]);
  r.duration_us = UsFromMs(ms);
  if (!ParseNumber(fields[3], r.body_bytes) || r.body_bytes < 0 || r.body_bytes >= kFigureLimit) {
    return BadLine("bad body length", fields[3]);
  }
  return result;
}

absl::StatusOr<TargetLine> ParseJsonLine(std::string_view line) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  options.max_depth = 4;
  boost::system::error_code error;
  const json::value value =
      json::parse(json::string_view(line.data(), line.size()), error, {}, options);
  if (error || !value.is_object()) return BadLine("not a JSON object", line);
  Members members(value.get_object());
  TargetLine result;
  if (const absl::Status s = FillFromMembers(members, result); !s.ok()) return s;
  return result;
}

}  // namespace fetchbench
