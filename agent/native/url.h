#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fetchbench::native {

// An http or https URL, ready to be fetched. The fragment is gone.
//
// Boost.URL is not used: it takes strict RFC 3986 only, while lists and Location values of real
// sites hold raw brackets, pipes, stray percent signs and bytes above 0x7f that must be sent on as
// curl and browsers send them.
struct Url {
  bool https = true;
  std::string host;  // lower-case A-labels, or an address literal without brackets
  std::optional<boost::asio::ip::address> literal;
  uint16_t port = 443;
  std::string target = "/";                // path and query as sent in the request line
  std::optional<std::string> credentials;  // "user:password", decoded

  // Value of the Host header: the port is left out when it is the scheme's own.
  std::string HostHeader() const;
};

// A line of a URL list, without its newline: https is assumed when the scheme is missing. Control
// characters, spaces and anything that curl refuses are InvalidArgument.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// A Location value against the URL that gave it. Spaces and bytes above 0x7f are percent-encoded,
// or IDN in the host. InvalidArgument when it is no URL, or neither http nor https.
absl::StatusOr<Url> ResolveLocation(const Url& base, std::string_view location);

bool SameOrigin(const Url& a, const Url& b);

}  // namespace fetchbench::native
