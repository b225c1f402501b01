#include "origin/listeners.h"

#include <fmt/format.h>

namespace fetchbench::origin {
namespace {

using net::ip::tcp;
using Acceptors = std::vector<tcp::acceptor>;
using BlackHoles = std::vector<BlackHole>;

constexpr int kPortTries = 32;

absl::Status ListenError(uint32_t address, uint16_t port, const error_code& ec) {
  const std::string text = fmt::format(
      "listening on {}:{}: {}", net::ip::address_v4(address).to_string(), port, ec.message());
  if (ec == net::error::address_in_use) return absl::AlreadyExistsError(text);
  return absl::UnavailableError(text);
}

// Listens on all of `serving` and `black_holes` at one port; AlreadyExists when it is taken
// somewhere.
absl::Status ListenOnAll(net::io_context& io, const std::vector<uint32_t>& serving,
                         const std::vector<uint32_t>& black_holes, uint16_t& port,
                         Acceptors& acceptors, BlackHoles& holes) {
  for (const uint32_t address : serving) {
    auto acceptor = ListenOn(io, address, port);
    if (!acceptor.ok()) return acceptor.status();
    error_code ignored;
    if (port == 0) port = acceptor->local_endpoint(ignored).port();
    acceptors.push_back(*std::move(acceptor));
  }
  for (const uint32_t address : black_holes) {
    auto hole = ListenAsBlackHole(io, address, port);
    if (!hole.ok()) return hole.status();
    holes.push_back(*std::move(hole));
  }
  return absl::OkStatus();
}

absl::Status ListenSomewhere(net::io_context& io, const std::vector<uint32_t>& serving,
                             const std::vector<uint32_t>& black_holes, uint16_t& port,
                             Acceptors& acceptors, BlackHoles& all_holes) {
  const uint16_t wanted = port;
  absl::Status status;
  for (int attempt = 0; attempt < kPortTries; ++attempt) {
    port = wanted;
    BlackHoles holes;
    acceptors.clear();
    acceptors.reserve(serving.size());
    status = ListenOnAll(io, serving, black_holes, port, acceptors, holes);
    if (status.ok()) {
      for (auto& hole : holes) all_holes.push_back(std::move(hole));
      return status;
    }
    if (wanted != 0 || !absl::IsAlreadyExists(status)) break;
  }
  return status;
}

}  // namespace

absl::StatusOr<tcp::acceptor> ListenOn(net::io_context& io, uint32_t address, uint16_t port,
                                       int backlog) {
  tcp::acceptor acceptor(io);
  error_code ec;
  acceptor.open(tcp::v4(), ec);
  // Asio's reuse_address lets a restarted origin bind a port whose old connections linger; a second
  // listener is still refused.
  if (!ec) acceptor.set_option(net::socket_base::reuse_address(true), ec);
  // Accepted sockets inherit it, which saves a call for each.
  if (!ec) acceptor.set_option(tcp::no_delay(true), ec);
  if (!ec) acceptor.bind({net::ip::address_v4(address), port}, ec);
  if (!ec) acceptor.listen(backlog, ec);
  if (ec) return ListenError(address, port, ec);
  return acceptor;
}

absl::StatusOr<BlackHole> ListenAsBlackHole(net::io_context& io, uint32_t address, uint16_t port) {
  // A backlog of 0 has room for one.
  auto acceptor = ListenOn(io, address, port, 0);
  if (!acceptor.ok()) return acceptor.status();
  error_code ec;
  const tcp::endpoint place = acceptor->local_endpoint(ec);
  tcp::socket filler(io);
  if (!ec) filler.connect(place, ec);
  if (ec) return ListenError(address, place.port(), ec);
  return BlackHole{*std::move(acceptor), std::move(filler)};
}

absl::StatusOr<Listeners> OpenListeners(net::io_context& io, const std::vector<uint32_t>& serving,
                                        const std::vector<uint32_t>& black_holes,
                                        uint16_t http_port, uint16_t https_port) {
  Listeners l;
  l.http_port = http_port;
  l.https_port = https_port;
  absl::Status status =
      ListenSomewhere(io, serving, black_holes, l.http_port, l.http, l.black_holes);
  if (status.ok()) {
    status = ListenSomewhere(io, serving, black_holes, l.https_port, l.https, l.black_holes);
  }
  if (!status.ok()) return status;
  return l;
}

}  // namespace fetchbench::origin
