#include "origin/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "origin/behaviours/behaviour.h"

namespace fetchbench::origin {
namespace {

// TLS 1.2 record, fatal handshake_failure (40).
constexpr std::string_view kHandshakeFailure{"\x15\x03\x03\x00\x02\x02\x28", 7};
constexpr std::string_view kGarbage = "SSH-2.0-OpenSSH_9.2\r\n";
constexpr std::string_view kNoServerName = "no-server-name.invalid";
constexpr size_t kDropBuffer = 4'096;

}  // namespace

void ConnectionList::Add(Connection& connection) {
  list_.push_back(connection);
  ++size_;
}

void ConnectionList::Expire(SteadyTime now) {
  for (Connection& connection : list_) {
    if (connection.deadline_ > now) continue;
    connection.deadline_ = SteadyTime::max();
    error_code ignored;
    connection.socket_.cancel(ignored);
  }
}

Connection::Connection(const ConnectionContext& context, Socket socket, bool tls)
    : context_(context), socket_(std::move(socket)) {
  error_code ignored;  // fails on a closed socket only; the first step then says so
  socket_.native_non_blocking(true, ignored);
  if (tls) {
    tls_.emplace(context_.ssl_context);
    tls_->SetDescriptor(socket_.native_handle());
    if (tls_->native_handle() != nullptr) ListenToHello(tls_->native_handle(), this);
  }
  ++context_.stats.connections;
  context_.open.Add(*this);
  BeginFlight();
}

Connection::~Connection() {
  context_.open.Removed();
  EndFlight();
  if (!logged_host_.empty() && !close_logged_) context_.log.Closed(logged_host_);
}

void Connection::BeginFlight() {
  if (!in_flight_) context_.stats.FlightBegins();
  in_flight_ = true;
}

void Connection::EndFlight() {
  if (in_flight_) context_.stats.FlightEnds();
  in_flight_ = false;
}

void Connection::NoteHost(std::string_view host) {
  if (!logged_host_.empty() || !IsConformanceHost(host)) return;
  logged_host_ = host;
  context_.log.Connected(host);
}

HelloListener::Next Connection::OnClientHello(const std::string& server_name) {
  // Asked again after a pause: everything is set already.
  if (hello_seen_) return Next::kGoOn;
  hello_seen_ = true;
  server_name_ = server_name;
  const std::string host = server_name.empty() ? std::string(kNoServerName) : server_name;
  view_ = context_.world.Look(host);
  if (server_name.empty()) view_.plan.tls = {};
  NoteHost(host);
  const TlsPlan& plan = view_.plan.tls;
  LimitVersions(tls_->native_handle(), plan.versions);
  if (!PresentCertificate(tls_->native_handle(), context_.certificates, host, plan.certificate)) {
    return Next::kFail;
  }
  const ConformanceHost* behaviour = view_.behaviour;
  if (behaviour != nullptr && behaviour->prepare_tls != nullptr &&
      !behaviour->prepare_tls(tls_->native_handle(), context_.certificates)) {
    return Next::kFail;
  }
  const bool pauses = plan.delay > Micros(0) || plan.breaks != TlsBreak::kNone;
  return pauses ? Next::kPause : Next::kGoOn;
}

Task<bool> Connection::Handshake() {
  for (;;) {
    error_code ec;
    const Want want = tls_->Handshake(TlsRole::kServer, ec);
    if (want != Want::kNothing) {
      if (hello_seen_ && view_.plan.tls.breaks == TlsBreak::kResetAfterFlight) {
        Reset();
        co_return false;
      }
      const bool ready = co_await WaitFor(want, kPatience);
      if (!ready) co_return false;
      continue;
    }
    if (!ec) break;
    if (SSL_want(tls_->native_handle()) != SSL_CLIENT_HELLO_CB) co_return false;
    co_await Sleep(view_.plan.tls.delay);
    const bool goes_on = co_await BreakHandshake(view_.plan.tls.breaks);
    if (!goes_on) co_return false;
  }
  // The client's answer to the flight may be there before it is looked for.
  if (view_.plan.tls.breaks == TlsBreak::kResetAfterFlight) {
    Reset();
    co_return false;
  }
  handshake_done_ = true;
  ++context_.stats.tls_handshakes;
  co_return true;
}

Task<bool> Connection::BreakHandshake(TlsBreak breaks) {
  if (view_.behaviour != nullptr && !view_.behaviour->hello_answer.empty()) {
    co_await WriteRaw(view_.behaviour->hello_answer);
  }
  switch (breaks) {
    case TlsBreak::kNone:
    case TlsBreak::kResetAfterFlight:
      co_return true;
    case TlsBreak::kSilent:
      co_await WaitForPeerClose(Exchange::kMaxHold);
      break;
    case TlsBreak::kReset:
      Reset();
      break;
    case TlsBreak::kClose:
      co_await HalfClose(true);
      break;
    case TlsBreak::kAlert:
      co_await WriteRaw(kHandshakeFailure);
      break;
    case TlsBreak::kGarbage:
      co_await WriteRaw(kGarbage);
      break;
  }
  co_return false;
}

Connection::Want Connection::TryRead(std::span<char> buffer, size_t& n, error_code& ec) {
  if (tls_ && handshake_done_) return tls_->Read(buffer.data(), buffer.size(), n, ec);
  const ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
  if (got > 0) {
    n = static_cast<size_t>(got);
  } else if (got == 0) {
    ec = net::error::eof;
  } else if (errno == EAGAIN || errno == EINTR) {
    return Want::kRead;
  } else {
    ec.assign(errno, boost::system::system_category());
  }
  return Want::kNothing;
}

Connection::Want Connection::TryWrite(std::string_view bytes, bool raw, size_t& n, error_code& ec) {
  if (tls_ && !raw) return tls_->Write(bytes.data(), bytes.size(), n, ec);
  const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    n = static_cast<size_t>(sent);
  } else if (errno == EAGAIN || errno == EINTR) {
    return Want::kWrite;
  } else {
    ec.assign(errno, boost::system::system_category());
  }
  return Want::kNothing;
}

Task<bool> Connection::WaitFor(Want want, Micros limit) {
  if (!is_open()) co_return false;
  deadline_ = std::chrono::steady_clock::now() + limit;
  const auto [ec] = co_await socket_.async_wait(
      want == Want::kRead ? Socket::wait_read : Socket::wait_write, kAsTuple);
  deadline_ = SteadyTime::max();
  co_return !ec && is_open();
}

Task<size_t> Connection::ReadSome(std::span<char> buffer) {
  while (is_open()) {
    size_t n = 0;
    error_code ec;
    const Want want = TryRead(buffer, n, ec);
    if (want == Want::kNothing) {
      if (ec) gone_ = true;
      co_return n;
    }
    const bool ready = co_await WaitFor(want, kPatience);
    if (!ready) gone_ = true;
  }
  co_return 0;
}

Task<bool> Connection::WriteAll(std::string_view bytes, bool raw) {
  while (!bytes.empty()) {
    if (written_this_turn_ >= kTurnBytes) {
      written_this_turn_ = 0;
      co_await net::post(socket_.get_executor(), net::use_awaitable);
    }
    if (!is_open()) co_return false;
    size_t n = 0;
    error_code ec;
    const Want want = TryWrite(bytes, raw, n, ec);
    if (ec) {
      gone_ = true;
      co_return false;
    }
    bytes.remove_prefix(n);
    written_this_turn_ += n;
    if (want == Want::kNothing) continue;
    const bool ready = co_await WaitFor(want, kPatience);
    if (!ready) gone_ = true;
  }
  co_return is_open();
}

Task<bool> Connection::Write(std::string_view bytes) { return WriteAll(bytes, false); }
Task<bool> Connection::WriteRaw(std::string_view bytes) { return WriteAll(bytes, true); }

Task<> Connection::SleepUntil(SteadyTime due) {
  if (due <= std::chrono::steady_clock::now()) co_return;
  net::steady_timer timer(socket_.get_executor());
  // Of a host whose log is kept, the log tells when the peer went away: looked at now and then,
  // because a pause reads nothing.
  for (SteadyTime now = std::chrono::steady_clock::now(); now < due;
       now = std::chrono::steady_clock::now()) {
    const bool look = !logged_host_.empty() && due - now > kCloseLook;
    timer.expires_at(look ? now + kCloseLook : due);
    co_await timer.async_wait(kAsTuple);
    NotePeerClose();
  }
  const auto late = std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - due);
  context_.stats.lateness.Add(late.count());
}

// By the kernel's word: bytes that nobody has read yet may hide the end of the stream.
void Connection::NotePeerClose() {
  if (logged_host_.empty() || close_logged_) return;
  tcp_info info{};
  socklen_t size = sizeof(info);
  const bool open = socket_.is_open() &&
                    getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                    info.tcpi_state != TCP_CLOSE_WAIT && info.tcpi_state != TCP_CLOSE;
  if (open) return;
  close_logged_ = true;
  context_.log.Closed(logged_host_);
}

Task<> Connection::Sleep(Micros time) {
  return SleepUntil(std::chrono::steady_clock::now() + time);
}

Task<bool> Connection::WaitForPeerClose(Micros limit) {
  const SteadyTime end = std::chrono::steady_clock::now() + limit;
  std::array<char, kDropBuffer> dropped;  // NOLINT(*-member-init): only written to
  while (socket_.is_open()) {
    size_t n = 0;
    error_code ec;
    const Want want = TryRead(dropped, n, ec);
    if (ec) {
      gone_ = true;
      co_return true;
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now >= end) co_return false;
    if (want == Want::kNothing) continue;
    const bool ready = co_await WaitFor(want, std::chrono::duration_cast<Micros>(end - now));
    if (!ready) co_return false;
  }
  co_return false;
}

void Connection::Reset() {
  error_code ignored;
  socket_.set_option(net::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  gone_ = true;
}

Task<> Connection::HalfClose(bool bare_fin) {
  if (!socket_.is_open()) co_return;
  if (handshake_done_ && !bare_fin && !notified_ && !gone_) {
    error_code ec;
    notified_ = true;
    // A peer that has stopped reading does without: waiting for it would help nobody.
    tls_->Shutdown(ec);
  }
  error_code ignored;
  socket_.shutdown(net::socket_base::shutdown_send, ignored);
}

Task<> Connection::Close(bool bare_fin) {
  co_await HalfClose(bare_fin);
  error_code ignored;
  socket_.close(ignored);
  gone_ = true;
}

}  // namespace fetchbench::origin
