#include "origin/dns_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/read.hpp>
#include <iterator>

#include "common/spawn.h"
#include "origin/planner.h"

namespace fetchbench::origin {
namespace {

using net::ip::tcp;
using net::ip::udp;

constexpr int kBatch = 64;
constexpr size_t kDatagram = 1'024;  // a query is a few dozen bytes
constexpr int kSocketBuffer = 4 << 20;
constexpr std::chrono::seconds kTcpIdle{10};
constexpr int kPortTries = 64;

// Buffers of one recvmmsg call.
struct Batch {
  std::array<std::array<uint8_t, kDatagram>, kBatch> data;
  std::array<sockaddr_in, kBatch> from;
  std::array<iovec, kBatch> parts;
  std::array<mmsghdr, kBatch> messages;

  Batch() : data(), from(), parts(), messages() {
    for (int i = 0; i < kBatch; ++i) {
      parts[i] = {data[i].data(), kDatagram};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_name = &from[i];
    }
  }

  int Receive(int fd) {
    for (auto& m : messages) m.msg_hdr.msg_namelen = sizeof(sockaddr_in);
    return recvmmsg(fd, messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  }
};

Rcode RcodeOf(DnsKind kind) {
  switch (kind) {
    case DnsKind::kNxdomain:
      return Rcode::kNxdomain;
    case DnsKind::kServfail:
      return Rcode::kServfail;
    case DnsKind::kRefused:
      return Rcode::kRefused;
    default:
      return Rcode::kNoError;
  }
}

// Ends a TCP connection that sits idle, so that DNS clients cannot pile up. The handler shares the
// socket, because it may be queued already when the connection ends.
void CancelWhenIdle(net::steady_timer& timer, std::shared_ptr<tcp::socket> socket) {
  timer.expires_after(kTcpIdle);
  timer.async_wait([socket = std::move(socket)](error_code ec) {
    error_code ignored;
    if (!ec) socket->cancel(ignored);
  });
}

// With the length in front, in one step: answers of one connection never mix. A client that leaves
// no room for an answer is not reading, and is cut off.
void SendFramed(tcp::socket& socket, const std::string& message) {
  std::string framed;
  framed += static_cast<char>(message.size() >> 8);
  framed += static_cast<char>(message.size() & 0xff);
  framed += message;
  const ssize_t sent =
      send(socket.native_handle(), framed.data(), framed.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  error_code ignored;
  if (sent != static_cast<ssize_t>(framed.size())) {
    socket.shutdown(net::socket_base::shutdown_both, ignored);
  }
}

}  // namespace

DnsServer::DnsServer(net::io_context& io, const World& world, RunStats& stats, HostLog& log)
    : io_(io), world_(world), stats_(stats), log_(log), udp_(io), tcp_(io), wake_(io) {}

absl::Status DnsServer::Listen(uint32_t address, uint16_t port) {
  const net::ip::address_v4 ip(address);
  error_code ec;
  for (int attempt = 0; attempt < kPortTries; ++attempt) {
    udp_ = udp::socket(io_);
    tcp_ = tcp::acceptor(io_);
    udp_.open(udp::v4(), ec);
    if (!ec) udp_.bind({ip, port}, ec);
    if (ec) break;
    endpoint_ = udp_.local_endpoint(ec);
    tcp_.open(tcp::v4(), ec);
    if (!ec) tcp_.set_option(net::socket_base::reuse_address(true), ec);
    // Accepted sockets inherit it: an answer must not wait for the acknowledgement of the one
    // before.
    if (!ec) tcp_.set_option(tcp::no_delay(true), ec);
    if (!ec) tcp_.bind({ip, endpoint_.port()}, ec);
    if (!ec) tcp_.listen(net::socket_base::max_listen_connections, ec);
    if (!ec) {
      error_code ignored;  // a smaller buffer only means that a burst may lose queries
      udp_.set_option(net::socket_base::receive_buffer_size(kSocketBuffer), ignored);
      udp_.set_option(net::socket_base::send_buffer_size(kSocketBuffer), ignored);
      udp_.non_blocking(true, ec);
      return absl::OkStatus();
    }
    if (port != 0) break;  // a free UDP port may be taken for TCP: try the next
  }
  return absl::UnavailableError(
      fmt::format("DNS on {}:{}: {}", ip.to_string(), port, ec.message()));
}

void DnsServer::Start() {
  const auto loop = io_.get_executor();
  Spawn(loop, "DNS over UDP", ServeUdp());
  Spawn(loop, "late DNS answers", SendWaiting());
  Spawn(loop, "DNS over TCP", AcceptTcp());
}

DnsServer::Answers DnsServer::AnswersTo(std::span<const uint8_t> message, bool udp) {
  DnsQuery query;
  DnsReply reply;
  switch (ParseQuery(message, query)) {
    case QueryCheck::kOk:
      break;
    case QueryCheck::kDrop:
      return {};
    case QueryCheck::kFormatError:
      reply.rcode = Rcode::kFormErr;
      return {{Micros(0), EncodeReply(query, reply)}};
    case QueryCheck::kNotImplemented:
      reply.rcode = Rcode::kNotImp;
      return {{Micros(0), EncodeReply(query, reply)}};
  }
  ++stats_.dns_queries;
  log_.Query(query.name);
  return AnswersOf(query, udp);
}

DnsServer::Answers DnsServer::AnswersOf(const DnsQuery& query, bool udp) const {
  const HostView view = world_.Look(query.name);
  const DnsPlan& dns = view.plan.dns;
  if (view.behaviour != nullptr && view.behaviour->answer_dns != nullptr) {
    auto answers = view.behaviour->answer_dns({query, !udp, world_.addresses()});
    return {std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end())};
  }
  if (dns.kind == DnsKind::kSilent) return {};
  DnsReply reply;
  reply.rcode = RcodeOf(dns.kind);
  const bool has_addresses = dns.kind == DnsKind::kAnswer || dns.kind == DnsKind::kMalformed;
  if (has_addresses && query.type == kTypeA && query.klass == kClassIn) {
    reply.addresses = world_.AddressesOf(query.name, dns.addresses);
  }
  reply.ttl_s = dns.ttl_s;
  reply.truncated = udp && dns.truncate_udp;
  reply.through_cname = dns.through_cname;
  reply.cut = dns.kind == DnsKind::kMalformed;
  return {{dns.delay, EncodeReply(query, reply)}};
}

Task<> DnsServer::ServeUdp() {
  const auto batch = std::make_unique<Batch>();
  for (;;) {
    const auto [ec] = co_await udp_.async_wait(udp::socket::wait_read, kAsTuple);
    if (ec) co_return;
    // One batch a turn: TLS handshakes wait behind at most this much work.
    const int count = batch->Receive(udp_.native_handle());
    const SteadyTime now = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      HandleDatagram({batch->data[i].data(), batch->messages[i].msg_len}, batch->from[i], now);
    }
  }
}

void DnsServer::HandleDatagram(std::span<const uint8_t> message, const sockaddr_in& from,
                               SteadyTime now) {
  for (DnsAnswer& answer : AnswersTo(message, true)) SendWhenDue(from, std::move(answer), now);
}

void DnsServer::SendWhenDue(const sockaddr_in& to, DnsAnswer answer, SteadyTime now) {
  if (answer.delay == Micros(0)) return Send(to, answer.message);
  if (waiting_.size() >= kMaxWaiting) {
    ++dropped_;
    return;
  }
  const SteadyTime due = now + answer.delay;
  const bool first = waiting_.empty() || due < waiting_.top().due;
  waiting_.push({due, to, std::move(answer.message)});
  if (first) wake_.cancel();
}

void DnsServer::Send(const sockaddr_in& to, const std::string& bytes) {
  const ssize_t sent = sendto(udp_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  if (sent < 0) ++dropped_;
}

Task<> DnsServer::SendWaiting() {
  for (;;) {
    const SteadyTime due = waiting_.empty() ? SteadyTime::max() : waiting_.top().due;
    wake_.expires_at(due);
    co_await wake_.async_wait(kAsTuple);
    if (!udp_.is_open()) co_return;
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!waiting_.empty() && waiting_.top().due <= now) {
      const Waiting& next = waiting_.top();
      Send(next.to, next.bytes);
      const auto late = std::chrono::duration_cast<Micros>(now - next.due);
      stats_.lateness.Add(late.count());
      waiting_.pop();
    }
  }
}

Task<> DnsServer::AcceptTcp() {
  for (;;) {
    auto [ec, socket] = co_await tcp_.async_accept(kAsTuple);
    if (!tcp_.is_open()) co_return;
    if (ec) {  // out of descriptors, most likely: they come back as connections end
      constexpr std::chrono::milliseconds kBackoff{50};
      net::steady_timer pause(io_, kBackoff);
      co_await pause.async_wait(kAsTuple);
      continue;
    }
    if (tcp_connections_ >= kMaxTcpConnections) continue;  // closes the socket
    Spawn(io_.get_executor(), "a DNS connection",
          ServeTcp(std::make_shared<tcp::socket>(std::move(socket))));
  }
}

Task<> DnsServer::ServeTcp(std::shared_ptr<tcp::socket> socket) {
  ++tcp_connections_;
  net::steady_timer idle(io_);
  std::string message;
  for (;;) {
    CancelWhenIdle(idle, socket);
    std::array<uint8_t, 2> length{};
    const auto [ec1, n1] = co_await net::async_read(*socket, net::buffer(length), kAsTuple);
    if (ec1) break;
    message.resize(static_cast<size_t>(length[0] << 8 | length[1]));
    const auto [ec2, n2] = co_await net::async_read(*socket, net::buffer(message), kAsTuple);
    if (ec2) break;
    idle.cancel();
    const auto* bytes = reinterpret_cast<const uint8_t*>(message.data());
    for (DnsAnswer& answer : AnswersTo({bytes, message.size()}, false)) {
      if (answer.delay == Micros(0)) {
        SendFramed(*socket, answer.message);
      } else {
        SendLater(socket, std::move(answer));
      }
    }
  }
  --tcp_connections_;
}

// A late answer does not hold up those to the queries behind it (RFC 7766 section 6.2.1.1).
void DnsServer::SendLater(std::shared_ptr<tcp::socket> socket, DnsAnswer answer) {
  if (tcp_waiting_ >= kMaxWaiting) {
    ++dropped_;
    return;
  }
  ++tcp_waiting_;
  const auto timer = std::make_shared<net::steady_timer>(io_, answer.delay);
  timer->async_wait([this, timer, socket = std::move(socket),
                     message = std::move(answer.message)](error_code ec) {
    --tcp_waiting_;
    if (!ec) SendFramed(*socket, message);
  });
}

}  // namespace fetchbench::origin
