#include "coordinator/input/url_normalize.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <idn2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(),
                                                [](char x, char y) { return Lower(x) == y; });
}

// What curl's host name check refuses, and '%': a percent-encoded host is refused rather than
// decoded, because clients disagree on it.
constexpr std::array<bool, 256> MakeBadInHost() {
  std::array<bool, 256> bad{};
  for (const char c : std::string_view(" \r\n\t/:#?!@{}[]\\$'\"^`*<>=;,+&()%|")) {
    bad[static_cast<unsigned char>(c)] = true;
  }
  return bad;
}
constexpr std::array<bool, 256> kBadInHost = MakeBadInHost();

bool IsControlOrSpace(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u <= 0x20 || u == 0x7f;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void SetInvalid(ListLine& line, std::string_view text, std::string reason) {
  line.kind = LineKind::kInvalid;
  line.url.assign(text.substr(0, kMaxKeptLineBytes));
  line.reason = std::move(reason);
}

std::string ControlReason(char c) {
  if (c == ' ') return "a space inside the URL (write it as %20)";
  if (c == '\0') return "a NUL byte inside the URL";
  return fmt::format("control character 0x{:02x} inside the URL",
                     static_cast<unsigned>(static_cast<unsigned char>(c)));
}

bool IsSchemeName(std::string_view text) {
  if (text.empty() || text.size() > 40) return false;
  const char first = Lower(text[0]);
  if (first < 'a' || first > 'z') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const char l = Lower(c);
    return (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') || l == '+' || l == '-' || l == '.';
  });
}

struct SchemeSplit {
  std::string_view scheme;  // empty: none written
  std::string_view rest;    // what follows the slashes
  bool bad_slashes = false;
};

// "http:/a", "http://a" and "http:///a" all mean http://a to curl; "host:80/x" has no scheme.
SchemeSplit SplitScheme(std::string_view text) {
  const size_t colon = text.find_first_of(":/?#");
  if (colon == std::string_view::npos || text[colon] != ':') return {{}, text, false};
  const std::string_view name = text.substr(0, colon);
  const std::string_view after = text.substr(colon + 1);
  const bool web = EqualsIgnoringCase(name, "http") || EqualsIgnoringCase(name, "https");
  if (!IsSchemeName(name) || !(after.starts_with('/') && (web || after.starts_with("//")))) {
    return {{}, text, false};
  }
  const size_t slashes = std::min(after.find_first_not_of('/'), after.size());
  return {name, after.substr(slashes), slashes > 3};
}

// Empty when the port is usable; the port itself is not needed.
std::string PortError(std::string_view port) {
  if (port.empty()) return {};  // "host:" is the default port
  unsigned value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (end != port.data() + port.size() || error == std::errc::invalid_argument) {
    return fmt::format("port '{}' is not a number", port.substr(0, 20));
  }
  if (error != std::errc() || value > 65535) {
    return fmt::format("port {} is above 65535", port.substr(0, 20));
  }
  return {};
}

std::string ParseIpv6(std::string_view host_port, std::string& host) {
  const size_t end = host_port.find(']');
  if (end == std::string_view::npos) return "no ']' after the IPv6 address";
  const std::string_view inside = host_port.substr(1, end - 1);
  const std::string address(inside.substr(0, inside.find('%')));  // without its zone
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) {
    return fmt::format("'{}' is not an IPv6 address", inside.substr(0, 60));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  host = text.data();
  const std::string_view rest = host_port.substr(end + 1);
  if (rest.empty()) return {};
  if (!rest.starts_with(':')) return "text between ']' and the path";
  return PortError(rest.substr(1));
}

std::string ToAce(std::string& host) {
  char* ace = nullptr;
  int result = idn2_to_ascii_8z(host.c_str(), &ace, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  if (result != IDN2_OK) result = idn2_to_ascii_8z(host.c_str(), &ace, IDN2_TRANSITIONAL);
  if (result != IDN2_OK) return fmt::format("host name: {}", idn2_strerror(result));
  const std::unique_ptr<char, void (*)(void*)> owner(ace, idn2_free);
  host = ace;
  // The mapping may leave nothing of a name (zero-width characters), or make a delimiter of it
  // (U+2100 becomes "a/c").
  if (host.empty()) return "no host name";
  for (const char c : host) {
    if (kBadInHost[static_cast<unsigned char>(c)]) {
      return fmt::format("the host name means '{}', which holds a '{}'", host, c);
    }
  }
  return {};
}

std::string ParseHostName(std::string_view host_port, std::string& host) {
  const size_t colon = host_port.find(':');
  const std::string_view name = host_port.substr(0, colon);
  host.resize(name.size());
  bool ascii = true;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto u = static_cast<unsigned char>(name[i]);
    if (kBadInHost[u]) return fmt::format("'{}' in the host name", name[i]);
    ascii = ascii && u < 0x80;
    host[i] = Lower(name[i]);
  }
  if (colon != std::string_view::npos) {
    if (std::string error = PortError(host_port.substr(colon + 1)); !error.empty()) return error;
  }
  if (host.empty()) return "no host name";
  return ascii ? std::string() : ToAce(host);
}

// Whether clients take `host` for an address without asking DNS: every spelling of inet_aton
// (127.1, 0x7f000001, with a dot behind it), IPv6, and localhost with the names below it (RFC
// 6761).
bool IsAddress(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return true;
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  if (host.empty() || host[0] < '0' || host[0] > '9') return false;
  in_addr address{};
  return inet_aton(std::string(host).c_str(), &address) != 0;
}

// Fills `host` from what stands between the slashes and the path; the error, or empty.
std::string ParseAuthority(std::string_view authority, std::string& host) {
  if (const size_t at = authority.find('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
    if (authority.find('@') != std::string_view::npos) {
      return "more than one '@' before the path (write it as %40 in a password)";
    }
  }
  host.clear();
  if (authority.starts_with('[')) return ParseIpv6(authority, host);
  return ParseHostName(authority, host);
}

}  // namespace

void ParseListLine(std::string_view text, ListLine& line) {
  text = Trim(text);
  line.kind = LineKind::kBlank;
  if (text.empty() || text[0] == '#') return;
  if (text.size() > kMaxUrlBytes) {
    SetInvalid(line, text, fmt::format("longer than {} bytes", kMaxUrlBytes));
    return;
  }
  if (const auto bad = std::find_if(text.begin(), text.end(), IsControlOrSpace);
      bad != text.end()) {
    SetInvalid(line, text, ControlReason(*bad));
    return;
  }
  const SchemeSplit split = SplitScheme(text);
  line.https = !EqualsIgnoringCase(split.scheme, "http");
  if (!split.scheme.empty() && line.https && !EqualsIgnoringCase(split.scheme, "https")) {
    SetInvalid(line, text, fmt::format("scheme '{}' is neither http nor https", split.scheme));
    return;
  }
  if (split.bad_slashes) {
    SetInvalid(line, text, "more than three slashes after the scheme");
    return;
  }
  const std::string_view authority = split.rest.substr(0, split.rest.find_first_of("/?#"));
  if (std::string error = ParseAuthority(authority, line.host); !error.empty()) {
    SetInvalid(line, text, std::move(error));
    return;
  }
  line.kind = LineKind::kUrl;
  line.address = IsAddress(line.host);
  line.url.assign(line.https ? "https://" : "http://");
  line.url.append(split.rest);
}

void Refuse(ListLine& line, std::string reason) {
  line.kind = LineKind::kInvalid;
  line.url.resize(std::min(line.url.size(), kMaxKeptLineBytes));
  line.reason = std::move(reason);
}

}  // namespace fetchbench::coordinator
