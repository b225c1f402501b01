#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/fd.h"

namespace fetchbench::testing {

// For a crowd and the agent in one process.
inline void AllowManyOpenFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Strangers who connect and say nothing. `address`: 127.0.0.1:PORT; `from`: the loopback address
// that they have (all of 127.0.0.0/8 is ours), so that one peer can be told from another.
class IdleCrowd {
 public:
  explicit IdleCrowd(std::string address, std::string from = "127.0.0.1")
      : address_(std::move(address)), from_(std::move(from)) {}

  // False: one could not even connect.
  bool Grow(size_t count) {
    const size_t colon = address_.rfind(':');
    const sockaddr_in to =
        At(address_.substr(0, colon), static_cast<uint16_t>(std::stoi(address_.substr(colon + 1))));
    const sockaddr_in own = At(from_, 0);
    for (size_t i = 0; i < count; ++i) {
      Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
          connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        return false;
      }
      connections_.push_back(std::move(fd));
    }
    return true;
  }

  // How many of them the other side has ended by now, whatever it said before.
  size_t Ended() const {
    size_t ended = 0;
    for (const Fd& fd : connections_) {
      pollfd polled{fd.get(), POLLRDHUP, 0};
      if (poll(&polled, 1, 0) > 0) ++ended;
    }
    return ended;
  }

 private:
  static sockaddr_in At(const std::string& ip, uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
    return address;
  }

  const std::string address_;
  const std::string from_;
  std::vector<Fd> connections_;
};

}  // namespace fetchbench::testing
