#include "agent/native/host_name.h"

#include <idn2.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <charconv>
#include <memory>

#include "absl/status/status.h"

namespace fetchbench::native {
namespace {

namespace ip = boost::asio::ip;

constexpr size_t kMaxLabel = 63;  // RFC 1035 section 2.3.4
constexpr size_t kMaxName = 253;

absl::Status Invalid(std::string_view why) { return absl::InvalidArgumentError(std::string(why)); }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One part of an old-style IPv4 address: decimal, 0octal or 0xhex.
std::optional<uint64_t> ParsePart(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// inet_aton's spellings. Without this "http://0x7f.1/" would be asked of DNS, and some resolvers
// answer with the loopback address that --deny-private is there to refuse.
std::optional<ip::address_v4> ParseOldIpv4(std::string_view text) {
  if (text.empty() || HexValue(text[0]) < 0 || text[0] > '9') return std::nullopt;
  if (text.ends_with('.')) text.remove_suffix(1);
  std::array<uint64_t, 4> parts{};
  size_t count = 0;
  while (true) {
    const size_t dot = std::min(text.find('.'), text.size());
    const auto part = ParsePart(text.substr(0, dot));
    if (!part || count == parts.size()) return std::nullopt;
    parts[count++] = *part;
    if (dot == text.size()) break;
    text.remove_prefix(dot + 1);
  }
  uint64_t value = 0;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (parts[i] > 0xff) return std::nullopt;
    value |= parts[i] << (24 - 8 * i);
  }
  const uint64_t last_limit = uint64_t{1} << (8 * (5 - count));
  if (parts[count - 1] >= last_limit) return std::nullopt;
  return ip::address_v4(static_cast<ip::address_v4::uint_type>(value | parts[count - 1]));
}

absl::StatusOr<HostName> ParseBracketed(std::string_view host) {
  boost::system::error_code ec;
  const std::string text(host.substr(1, host.size() - 2));
  if (text.find('%') != std::string::npos) return Invalid("IPv6 zone in URL");
  const auto address = ip::make_address_v6(text, ec);
  if (ec) return Invalid("bad IPv6 address");
  return HostName{address.to_string(), ip::address(address)};
}

absl::StatusOr<std::string> ToAscii(const std::string& host) {
  // Some names that are in use are not valid in IDNA2008's own mapping; curl falls back too.
  for (const int flags : {IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL, IDN2_TRANSITIONAL | 0}) {
    uint8_t* out = nullptr;
    if (idn2_lookup_u8(reinterpret_cast<const uint8_t*>(host.c_str()), &out, flags) == IDN2_OK) {
      const std::unique_ptr<uint8_t, decltype(&idn2_free)> owner(out, idn2_free);
      return std::string(reinterpret_cast<const char*>(out));
    }
  }
  return Invalid("host is no valid internationalised name");
}

absl::Status CheckName(std::string_view name) {
  constexpr std::string_view kForbidden = " \"#$%&'()*+,/:;<=>?@[\\]^`{|}";  // as curl
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return Invalid("no host");
  if (name.size() > kMaxName) return Invalid("host name longer than 253 characters");
  size_t label = 0;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f ||
        kForbidden.find(c) != std::string_view::npos) {
      return Invalid("bad character in host name");
    }
    if (c != '.') {
      if (++label > kMaxLabel) return Invalid("host label longer than 63 characters");
      continue;
    }
    if (label == 0) return Invalid("empty label in host name");
    label = 0;
  }
  return absl::OkStatus();
}

}  // namespace

std::string PercentDecoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexValue(text[i + 1]) >= 0 &&
        HexValue(text[i + 2]) >= 0) {
      out += static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

absl::StatusOr<HostName> NormalizeHost(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') return ParseBracketed(host);
  std::string name = PercentDecoded(host);
  if (name.find('\0') != std::string::npos) return Invalid("bad character in host name");
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    auto ascii = ToAscii(name);
    if (!ascii.ok()) return ascii.status();
    name = *std::move(ascii);
  }
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (const absl::Status s = CheckName(name); !s.ok()) return s;
  if (const auto v4 = ParseOldIpv4(name)) return HostName{v4->to_string(), ip::address(*v4)};
  return HostName{std::move(name), std::nullopt};
}

}  // namespace fetchbench::native
