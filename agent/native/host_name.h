#pragma once

#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fetchbench::native {

struct HostName {
  std::string name;  // lower-case A-labels, or the literal's canonical text without brackets
  std::optional<boost::asio::ip::address> literal;
};

// The host part of a URL: percent-decoded, U-labels to A-labels (IDNA2008 with the non-transitional
// TR46 mapping, as curl does), "[::1]" and the old spellings of IPv4 addresses ("0x7f.1",
// "2130706433") to addresses. InvalidArgument when it can be neither name nor address.
absl::StatusOr<HostName> NormalizeHost(std::string_view host);

// "%41" -> "A"; a percent sign that starts no escape stays as it is.
std::string PercentDecoded(std::string_view text);

}  // namespace fetchbench::native
