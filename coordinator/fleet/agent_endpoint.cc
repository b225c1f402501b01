#include "coordinator/fleet/agent_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "common/harmless_text.h"
#include "common/loopback.h"

namespace fetchbench::coordinator {
namespace {

constexpr uint32_t kMaxPort = 65'535;
constexpr std::string_view kNameMark = "=";

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

// Of a host name as text (RFC 1035, 2.3.4: 255 octets on the wire).
constexpr size_t kMaxHostLength = 253;

// Would end a line, or do things to a terminal, wherever it is shown.
bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// 0: it is none.
uint32_t PortOf(std::string_view text) {
  uint32_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && last == text.data() + text.size() && value <= kMaxPort;
  return good ? value : 0;
}

// A host's name as it stands in a certificate and an inventory; an IPv6 address can be one.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxHostLength &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_' || c == ':';
         });
}

}  // namespace

absl::StatusOr<std::string> ParseAddress(std::string_view text, std::string_view default_port) {
  const auto wrong = [text] {
    return Wrong(
        fmt::format("'{}' is not an address: HOST:PORT, [IPV6]:PORT or unix:PATH", Harmless(text)));
  };
  if (HasControlCharacter(text)) return wrong();
  if (IsUnixSocket(text)) {
    if (text == "unix:") return Wrong("'unix:' without a path");
    return std::string(text);
  }
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = text.substr(0, colon);
  const uint32_t port =
      PortOf(colon == std::string_view::npos ? default_port : text.substr(colon + 1));
  if (host.empty() || host.size() > kMaxHostLength ||
      host.find_first_of(" /@=") != std::string_view::npos || port == 0) {
    return wrong();
  }
  return fmt::format("{}:{}", host, port);
}

absl::StatusOr<AgentEndpoint> ParseAgentEndpoint(std::string_view text) {
  AgentEndpoint endpoint;
  // A socket's path may hold the mark too.
  const size_t mark = IsUnixSocket(text) ? std::string_view::npos : text.find(kNameMark);
  if (mark != std::string_view::npos) {
    endpoint.name = std::string(text.substr(0, mark));
    if (!IsName(endpoint.name)) {
      return Wrong(fmt::format(
          "'{}' is not NAME=ADDRESS: a name has letters, digits, '-', '.', '_' and ':', {} at most",
          Harmless(text), kMaxHostLength));
    }
    text.remove_prefix(mark + kNameMark.size());
  }
  auto address = ParseAddress(text, kDefaultAgentPort);
  if (!address.ok()) return address.status();
  endpoint.address = *std::move(address);
  return endpoint;
}

std::string EndpointText(const AgentEndpoint& endpoint) {
  if (endpoint.name.empty()) return endpoint.address;
  return fmt::format("{}{}{}", endpoint.name, kNameMark, endpoint.address);
}

absl::Status AddAgents(std::string_view list, std::vector<AgentEndpoint>& agents) {
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    auto endpoint = ParseAgentEndpoint(list.substr(begin, comma - begin));
    if (!endpoint.ok()) return endpoint.status();
    const auto same = std::find_if(agents.begin(), agents.end(), [&](const AgentEndpoint& other) {
      return other.address == endpoint->address || other.shown() == endpoint->shown();
    });
    if (same != agents.end()) {
      return Wrong(fmt::format("agent {} is named twice", endpoint->shown()));
    }
    agents.push_back(*std::move(endpoint));
    begin = comma + 1;
  }
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
