#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/net.h"
#include "origin/connection.h"
#include "origin/listeners.h"

namespace fetchbench::origin {

// HTTP/1.1 over plain TCP and TLS on every listener. The io_context's thread only; `context` and
// what it refers to must outlive the io_context.
class HttpServer {
 public:
  HttpServer(net::io_context& io, const ConnectionContext& context) : io_(io), context_(context) {}

  void Start(Listeners listeners);

  uint16_t http_port() const { return listeners_.http_port; }
  uint16_t https_port() const { return listeners_.https_port; }

 private:
  // Deadlines of quiet peers are looked at this often.
  static constexpr std::chrono::milliseconds kSweep{100};
  // Pause of a listener that got an error: out of descriptors, most likely.
  static constexpr std::chrono::milliseconds kAcceptBackoff{50};

  struct OnAccept;

  void Accept(net::ip::tcp::acceptor& acceptor, bool tls);
  void Accepted(net::ip::tcp::acceptor& acceptor, bool tls, error_code ec,
                net::ip::tcp::socket socket);
  Task<> AcceptLater(net::ip::tcp::acceptor& acceptor, bool tls);
  Task<> Sweep();

  net::io_context& io_;
  const ConnectionContext context_;
  Listeners listeners_;
};

// Serves one accepted connection until it ends.
Task<> ServeConnection(ConnectionContext context, net::ip::tcp::socket socket, bool tls);

}  // namespace fetchbench::origin
