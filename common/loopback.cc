#include "common/loopback.h"

#include <arpa/inet.h>

#include <cstdint>
#include <string>

namespace fetchbench {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr uint32_t kLoopbackNet = 127;

// A name such as 127.example.com is no address.
bool IsLoopbackIpv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24U == kLoopbackNet;
}

}  // namespace

bool IsUnixSocket(std::string_view address) { return address.starts_with(kUnix); }

std::string HostOf(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

bool StaysOnThisMachine(std::string_view address) {
  if (IsUnixSocket(address)) return true;
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || IsLoopbackIpv4(std::string(host));
}

}  // namespace fetchbench
