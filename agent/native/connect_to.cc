#include "agent/native/connect_to.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "absl/status/status.h"

namespace fetchbench::native {
namespace {

// Cuts one field, which ends at a colon outside brackets, off the front.
std::string_view TakeField(std::string_view& text) {
  size_t end = 0;
  if (text.starts_with('[')) end = std::min(text.find(']'), text.size());
  end = std::min(text.find(':', end), text.size());
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

std::string Unbracketed(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  std::string out(host);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool ParsePort(std::string_view text, uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

absl::Status ConnectTo::Add(std::string_view text) {
  const auto colons = std::ranges::count(text, ':');
  std::string_view rest = text;
  std::array<std::string_view, 4> fields;
  bool brackets_ok = true;
  for (std::string_view& field : fields) {
    field = TakeField(rest);
    brackets_ok = brackets_ok && field.starts_with('[') == field.ends_with(']');
  }
  Rule rule;
  rule.from_host = Unbracketed(fields[0]);
  rule.to_host = Unbracketed(fields[2]);
  const bool ports_ok = (fields[1].empty() || ParsePort(fields[1], rule.from_port)) &&
                        (fields[3].empty() || ParsePort(fields[3], rule.to_port));
  if (colons < 3 || !rest.empty() || !ports_ok || !brackets_ok) {
    return absl::InvalidArgumentError(fmt::format(
        "--connect-to {}: expected HOST1:PORT1:HOST2:PORT2, such as ::127.0.0.1:8443", text));
  }
  rules_.push_back(std::move(rule));
  return absl::OkStatus();
}

HostPort ConnectTo::Apply(std::string_view host, uint16_t port) const {
  for (const Rule& rule : rules_) {
    if (!rule.from_host.empty() && rule.from_host != host) continue;
    if (rule.from_port != 0 && rule.from_port != port) continue;
    return {rule.to_host.empty() ? std::string(host) : rule.to_host,
            rule.to_port == 0 ? port : rule.to_port};
  }
  return {std::string(host), port};
}

absl::StatusOr<HostPort> ParseAddressPort(std::string_view text, uint16_t default_port) {
  HostPort result{std::string(text), default_port};
  const bool bare_v6 = !text.starts_with('[') && std::ranges::count(text, ':') > 1;
  if (!bare_v6) {
    std::string_view rest = text;
    result.host = Unbracketed(TakeField(rest));
    if (!rest.empty() && !ParsePort(rest, result.port)) {
      return absl::InvalidArgumentError(fmt::format("{}: bad port number", text));
    }
  }
  boost::system::error_code ec;
  boost::asio::ip::make_address(result.host, ec);
  if (ec) return absl::InvalidArgumentError(fmt::format("{}: not an IP address", text));
  return result;
}

}  // namespace fetchbench::native
