#include "origin/http_server.h"

#include "common/spawn.h"

namespace fetchbench::origin {

using net::ip::tcp;

// A named handler instead of a lambda: thousands of them wait at the same time.
struct HttpServer::OnAccept {
  HttpServer* server;
  tcp::acceptor* acceptor;
  bool tls;
  void operator()(error_code ec, tcp::socket socket) const {
    server->Accepted(*acceptor, tls, ec, std::move(socket));
  }
};

void HttpServer::Start(Listeners listeners) {
  listeners_ = std::move(listeners);
  for (auto& acceptor : listeners_.http) Accept(acceptor, false);
  for (auto& acceptor : listeners_.https) Accept(acceptor, true);
  Spawn(io_.get_executor(), "the sweep", Sweep());
}

void HttpServer::Accept(tcp::acceptor& acceptor, bool tls) {
  acceptor.async_accept(OnAccept{this, &acceptor, tls});
}

void HttpServer::Accepted(tcp::acceptor& acceptor, bool tls, error_code ec, tcp::socket socket) {
  if (ec == net::error::operation_aborted) return;
  if (ec == net::error::connection_aborted) return Accept(acceptor, tls);  // it left already
  if (ec) {
    Spawn(io_.get_executor(), "a pausing listener", AcceptLater(acceptor, tls));
    return;
  }
  if (context_.open.full()) return Accept(acceptor, tls);  // closes the socket
  Spawn(io_.get_executor(), "a connection", ServeConnection(context_, std::move(socket), tls));
  Accept(acceptor, tls);
}

Task<> HttpServer::AcceptLater(tcp::acceptor& acceptor, bool tls) {
  net::steady_timer pause(io_, kAcceptBackoff);
  co_await pause.async_wait(kAsTuple);
  Accept(acceptor, tls);
}

Task<> HttpServer::Sweep() {
  net::steady_timer tick(io_);
  for (;;) {
    tick.expires_after(kSweep);
    const auto [ec] = co_await tick.async_wait(kAsTuple);
    if (ec) co_return;
    context_.open.Expire(std::chrono::steady_clock::now());
  }
}

}  // namespace fetchbench::origin
