#include "common/outcome.h"

#include <cstddef>

namespace fetchbench {
namespace {

constexpr std::array<std::string_view, kOutcomeCount> kNames = {
    "unspecified",         "status",
    "invalid_url",         "blocked_address",
    "dns_not_found",       "dns_failure",
    "dns_timeout",         "connect_refused",
    "connect_unreachable", "connect_timeout",
    "connection_reset",    "tls_handshake",
    "tls_certificate",     "timeout_before_headers",
    "timeout_in_body",     "response_malformed",
    "header_too_large",    "body_truncated",
    "body_too_large",      "redirect_limit",
    "redirect_invalid",    "client_error",
    "client_crashed",      "cancelled"};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  const auto i = static_cast<size_t>(outcome);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

std::optional<Outcome> OutcomeFromName(std::string_view name) {
  for (size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

}  // namespace fetchbench
