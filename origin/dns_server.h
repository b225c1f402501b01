#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/net.h"
#include "origin/behaviours/behaviour.h"
#include "origin/dns_message.h"
#include "origin/host_log.h"
#include "origin/run_stats.h"
#include "origin/world.h"

namespace fetchbench::origin {

// Answers DNS over UDP and TCP for every name, as each host's plan says. One UDP socket, read in
// batches; late answers wait in one heap with one timer. The io_context's thread only; everything
// passed by reference must outlive it.
class DnsServer {
 public:
  DnsServer(net::io_context& io, const World& world, RunStats& stats, HostLog& log);

  // Binds UDP and TCP to the same port of `address` (host byte order). `port` 0: a free one.
  absl::Status Listen(uint32_t address, uint16_t port);
  void Start();

  net::ip::udp::endpoint endpoint() const { return endpoint_; }

  // Replies that were not sent because too many were waiting or the socket was full.
  uint64_t dropped() const { return dropped_; }

 private:
  static constexpr size_t kMaxWaiting = 65'536;
  static constexpr int kMaxTcpConnections = 512;

  struct Waiting {
    SteadyTime due;
    sockaddr_in to;
    std::string bytes;
    bool operator>(const Waiting& other) const { return due > other.due; }
  };
  // What to send after which delay; empty is silence. Only named behaviours send several.
  using Answers = absl::InlinedVector<DnsAnswer, 1>;

  Answers AnswersTo(std::span<const uint8_t> message, bool udp);
  Answers AnswersOf(const DnsQuery& query, bool udp) const;
  Task<> ServeUdp();
  void HandleDatagram(std::span<const uint8_t> message, const sockaddr_in& from, SteadyTime now);
  void SendWhenDue(const sockaddr_in& to, DnsAnswer answer, SteadyTime now);
  void Send(const sockaddr_in& to, const std::string& bytes);
  Task<> SendWaiting();
  Task<> AcceptTcp();
  Task<> ServeTcp(std::shared_ptr<net::ip::tcp::socket> socket);
  void SendLater(std::shared_ptr<net::ip::tcp::socket> socket, DnsAnswer answer);

  net::io_context& io_;
  const World& world_;
  RunStats& stats_;
  HostLog& log_;
  net::ip::udp::endpoint endpoint_;
  net::ip::udp::socket udp_;
  net::ip::tcp::acceptor tcp_;
  net::steady_timer wake_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  int tcp_connections_ = 0;
  size_t tcp_waiting_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace fetchbench::origin
