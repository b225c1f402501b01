#pragma once

#include <string>
#include <string_view>

namespace fetchbench {

// Whether "host:port", "[ipv6]:port" or "unix:path" stays on this machine whatever a name server
// says: 127.0.0.0/8, [::1], localhost, a Unix socket. Pure.
bool StaysOnThisMachine(std::string_view address);
bool IsUnixSocket(std::string_view address);
// The host of "host:port" or "[ipv6]:port", without the brackets. Pure.
std::string HostOf(std::string_view address);

}  // namespace fetchbench
