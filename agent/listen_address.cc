#include "agent/listen_address.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kMaxPort = 65'535;

bool SomebodyAnswers(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return answers;
}

absl::Status CheckFolder(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) return FromErrno(errno, "folder " + folder);
  const auto mode = info.st_mode & 07777U;
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (mode & 077U) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("folder {} of the socket: it must be a directory of this user with mode 0700 "
                    "(it is {:04o} of user "
                    "{}); whoever can enter it can start programs here",
                    folder, mode, info.st_uid));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ListenAddress::Text() const {
  if (!socket_path.empty()) return fmt::format("{}{}", kUnix, socket_path);
  return fmt::format("{}:{}", host, port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  ListenAddress address;
  if (text.starts_with(kUnix)) {
    address.socket_path = std::string(text.substr(kUnix.size()));
    if (address.socket_path.empty() ||
        address.socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(fmt::format("socket path '{}': 1 to {} bytes",
                                                    address.socket_path,
                                                    sizeof(sockaddr_un::sun_path) - 1));
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool number = error == std::errc() && end == port.data() + port.size();
  if (colon == std::string_view::npos || colon == 0 || !number || address.port < 0 ||
      address.port > kMaxPort) {
    return absl::InvalidArgumentError(
        fmt::format("--listen '{}': write HOST:PORT or unix:PATH", text));
  }
  address.host = std::string(text.substr(0, colon));
  if (address.host.find(':') != std::string::npos && !address.host.starts_with('[')) {
    return absl::InvalidArgumentError(
        fmt::format("--listen '{}': an IPv6 address goes in brackets, as in [::1]:7311", text));
  }
  return address;
}

absl::Status PrepareSocketFolder(const std::string& socket_path) {
  const size_t slash = socket_path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : socket_path.substr(0, slash);
  if (folder.empty()) folder = "/";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return FromErrno(errno, "making folder " + folder);
  }
  if (absl::Status s = CheckFolder(folder); !s.ok()) return s;
  if (SomebodyAnswers(socket_path)) {
    return absl::AlreadyExistsError(fmt::format("an agent listens on {} already", socket_path));
  }
  return absl::OkStatus();
}

}  // namespace fetchbench::agent
