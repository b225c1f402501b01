#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/net.h"

namespace fetchbench::origin {

// A listening TCP socket on `address` (host byte order). `port` 0: a free one.
absl::StatusOr<net::ip::tcp::acceptor> ListenOn(
    net::io_context& io, uint32_t address, uint16_t port,
    int backlog = net::socket_base::max_listen_connections);

// A socket whose queue of connections to be accepted is full for as long as this lives: the kernel
// drops every SYN, so that connects to it never end. Needs no privilege, as a socket filter would
// on some kernels.
struct BlackHole {
  net::ip::tcp::acceptor acceptor;
  net::ip::tcp::socket filler;  // the connection that fills the queue
};
absl::StatusOr<BlackHole> ListenAsBlackHole(net::io_context& io, uint32_t address, uint16_t port);

// The listening sockets of the simulated web: each serving address has one for http and one for
// https, on the same two ports everywhere.
struct Listeners {
  std::vector<net::ip::tcp::acceptor> http;
  std::vector<net::ip::tcp::acceptor> https;
  std::vector<BlackHole> black_holes;
  uint16_t http_port = 0;
  uint16_t https_port = 0;
};

// Port 0: a port that is free on all addresses.
absl::StatusOr<Listeners> OpenListeners(net::io_context& io, const std::vector<uint32_t>& serving,
                                        const std::vector<uint32_t>& black_holes,
                                        uint16_t http_port, uint16_t https_port);

}  // namespace fetchbench::origin
