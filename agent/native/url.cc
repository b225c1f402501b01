#include "agent/native/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/status/status.h"
#include "agent/native/host_name.h"

namespace fetchbench::native {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

absl::Status Invalid(std::string_view why) { return absl::InvalidArgumentError(std::string(why)); }

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string Lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), Lower);
  return out;
}

// Length of a scheme at the start of `text` without its colon; 0 when there is none.
size_t SchemeLength(std::string_view text) {
  if (text.empty() || !IsAlpha(text[0])) return 0;
  size_t i = 1;
  while (i < text.size() && (IsAlpha(text[i]) || IsDigit(text[i]) || text[i] == '+' ||
                             text[i] == '-' || text[i] == '.')) {
    ++i;
  }
  return i < text.size() && text[i] == ':' ? i : 0;
}

// What may not stand in a request line is percent-encoded; everything else is sent as it came.
std::string EncodedTarget(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view WithoutFragment(std::string_view text) { return text.substr(0, text.find('#')); }

// RFC 3986 section 5.2.4, on a path that starts with a slash.
std::string WithoutDotSegments(std::string_view path) {
  if (path.find("/.") == std::string_view::npos) return std::string(path);
  std::vector<std::string_view> kept;
  bool ends_in_slash = false;
  size_t begin = 1;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    const bool last = end == path.size();
    if (segment == "." || segment == "..") {
      if (segment == ".." && !kept.empty()) kept.pop_back();
      ends_in_slash = last;
    } else {
      kept.push_back(segment);
    }
    begin = end + 1;
  }
  std::string out;
  for (const std::string_view segment : kept) {
    out += '/';
    out += segment;
  }
  if (ends_in_slash || out.empty()) out += '/';
  return out;
}

// `rest` is what follows the authority: path, query, or nothing.
std::string TargetOf(std::string_view rest) {
  rest = WithoutFragment(rest);
  const size_t query = std::min(rest.find('?'), rest.size());
  std::string path = WithoutDotSegments(rest.substr(0, query));
  if (path.empty()) path = "/";
  return EncodedTarget(path) + EncodedTarget(rest.substr(query));
}

absl::StatusOr<uint16_t> ParsePort(std::string_view text, uint16_t fallback) {
  if (text.empty()) return fallback;
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return Invalid("bad port number");
  return port;
}

absl::Status ParseHostPort(std::string_view text, Url& url) {
  std::string_view host = text;
  std::string_view port;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return Invalid("bad IPv6 address");
    host = text.substr(0, close + 1);
    port = text.substr(close + 1);
    if (!port.empty() && port[0] != ':') return Invalid("bad IPv6 address");
    if (!port.empty()) port.remove_prefix(1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  auto name = NormalizeHost(host);
  if (!name.ok()) return name.status();
  url.host = std::move(name->name);
  url.literal = name->literal;
  const auto number = ParsePort(port, url.https ? kHttpsPort : kHttpPort);
  if (!number.ok()) return number.status();
  url.port = *number;
  return absl::OkStatus();
}

// `text` is what follows "scheme://".
absl::StatusOr<Url> ParseAfterScheme(bool https, std::string_view text) {
  Url url;
  url.https = https;
  std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::string_view rest = text.substr(authority.size());
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    const size_t colon = std::min(user.find(':'), user.size());
    url.credentials = PercentDecoded(user.substr(0, colon)) + ":" +
                      PercentDecoded(user.substr(std::min(colon + 1, user.size())));
    authority.remove_prefix(at + 1);
  }
  if (const absl::Status s = ParseHostPort(authority, url); !s.ok()) return s;
  url.target = TargetOf(rest);
  return url;
}

// Whether `scheme` is https; nothing when it is neither http nor https.
std::optional<bool> IsHttps(std::string_view scheme) {
  const std::string lower = Lowered(scheme);
  if (lower == "https") return true;
  if (lower == "http") return false;
  return std::nullopt;
}

// One to three slashes after the colon, as curl takes them.
absl::StatusOr<std::string_view> AfterSlashes(std::string_view text) {
  size_t slashes = 0;
  while (slashes < text.size() && text[slashes] == '/') ++slashes;
  if (slashes == 0 || slashes > 3) return Invalid("bad number of slashes after the scheme");
  return text.substr(slashes);
}

absl::StatusOr<Url> ParseWithScheme(std::string_view text, size_t scheme) {
  const auto https = IsHttps(text.substr(0, scheme));
  if (!https) return Invalid("scheme is neither http nor https");
  const auto rest = AfterSlashes(text.substr(scheme + 1));
  if (!rest.ok()) return rest.status();
  return ParseAfterScheme(*https, *rest);
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// The path of `base` up to and including its last slash.
std::string_view Directory(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

std::string Url::HostHeader() const {
  const bool bracketed = literal.has_value() && literal->is_v6();
  std::string out = bracketed ? "[" + host + "]" : host;
  if (port != (https ? kHttpsPort : kHttpPort)) out += fmt::format(":{}", port);
  return out;
}

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  text = Trimmed(text);
  if (text.empty()) return Invalid("empty URL");
  if (std::ranges::any_of(text, [](char c) { return IsControl(c) || c == ' '; })) {
    return Invalid("control character or space in URL");
  }
  // "host:8080/x" has no scheme: a scheme counts only with a slash after its colon.
  const size_t scheme = SchemeLength(text);
  if (scheme != 0 && scheme + 1 < text.size() && text[scheme + 1] == '/') {
    return ParseWithScheme(text, scheme);
  }
  if (text.starts_with("//")) text.remove_prefix(2);
  return ParseAfterScheme(true, text);
}

absl::StatusOr<Url> ResolveLocation(const Url& base, std::string_view location) {
  location = WithoutFragment(Trimmed(location));
  if (const size_t scheme = SchemeLength(location); scheme != 0) {
    return ParseWithScheme(location, scheme);
  }
  if (location.starts_with("//")) return ParseAfterScheme(base.https, location.substr(2));
  Url url = base;
  if (location.empty()) return url;
  if (location[0] == '/') {
    url.target = TargetOf(location);
  } else if (location[0] == '?') {
    const std::string_view target = base.target;
    url.target = TargetOf(std::string(target.substr(0, target.find('?'))) + std::string(location));
  } else {
    url.target = TargetOf(std::string(Directory(base.target)) + std::string(location));
  }
  return url;
}

bool SameOrigin(const Url& a, const Url& b) {
  return a.https == b.https && a.port == b.port && a.host == b.host;
}

}  // namespace fetchbench::native
