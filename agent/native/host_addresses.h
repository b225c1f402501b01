#pragma once

#include <boost/asio/ip/address.hpp>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::native {

// The addresses of this host's interfaces, whether they are up or not, as they are now. Those that
// a router or a cloud translates to one of them cannot be known here. Internal when the kernel does
// not tell.
absl::StatusOr<std::vector<boost::asio::ip::address>> HostAddresses();

}  // namespace fetchbench::native
