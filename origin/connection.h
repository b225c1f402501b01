#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/intrusive/list.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/net.h"
#include "common/tls_stream.h"
#include "origin/certificate_store.h"
#include "origin/host_log.h"
#include "origin/run_stats.h"
#include "origin/tls_context.h"
#include "origin/world.h"

namespace fetchbench::origin {

class ConnectionList;

// What connections share; all of it outlives them.
struct ConnectionContext {
  const World& world;
  CertificateStore& certificates;
  SSL_CTX* ssl_context;
  RunStats& stats;
  HostLog& log;
  ConnectionList& open;
};

// One accepted connection, plain or TLS, and the waits that its host's plan asks for. Used by one
// coroutine at a time on the origin's thread; stays where it is.
class Connection final : public boost::intrusive::list_base_hook<
                             boost::intrusive::link_mode<boost::intrusive::auto_unlink>>,
                         private HelloListener {
 public:
  using Socket = net::ip::tcp::socket;

  // Longest that a peer may keep us waiting for a byte, or for room to send one.
  static constexpr std::chrono::seconds kPatience{60};

  Connection(const ConnectionContext& context, Socket socket, bool tls);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The TLS handshake with all that the host's plan does to it. False: the connection is over.
  Task<bool> Handshake();

  // At least one byte, or 0: the peer closed, reset, or was silent for too long.
  Task<size_t> ReadSome(std::span<char> buffer);

  // All of `bytes`, which must stay alive until it returns. False: the peer is gone.
  Task<bool> Write(std::string_view bytes);
  // The same past TLS.
  Task<bool> WriteRaw(std::string_view bytes);

  // Waits for a planned moment and counts how late it was left.
  Task<> SleepUntil(SteadyTime due);
  Task<> Sleep(Micros time);

  // Reads and drops until the peer closes (true) or `limit` is over.
  Task<bool> WaitForPeerClose(Micros limit);

  void Reset();                 // the peer gets a RST
  Task<> Close(bool bare_fin);  // with close_notify first on TLS, unless bare_fin
  Task<> HalfClose(bool bare_fin);

  bool is_tls() const { return tls_.has_value(); }
  bool is_open() const { return socket_.is_open() && !gone_; }
  // The host that the ClientHello named, or empty.
  const std::string& server_name() const { return server_name_; }
  // Whether the host's plan wants closes without close_notify.
  bool bare_fin() const { return !view_.plan.tls.close_notify; }
  const ConnectionContext& context() const { return context_; }

  // A flight is a request being served, as RunStats counts it.
  void BeginFlight();
  void EndFlight();

  // Enters the host log once, when the host becomes known.
  void NoteHost(std::string_view host);

  // After serving: another request may follow.
  bool keep_alive = false;

 private:
  // After so many bytes others get a turn, or one fast reader of a large body would make everybody
  // else's delays late.
  static constexpr size_t kTurnBytes = size_t{128} * 1024;

  // How exactly a pause tells the log when the peer closed.
  static constexpr Micros kCloseLook{20'000};

  friend class ConnectionList;
  using Want = TlsSession::Want;

  Next OnClientHello(const std::string& server_name) override;
  Task<bool> BreakHandshake(TlsBreak breaks);
  Want TryRead(std::span<char> buffer, size_t& n, error_code& ec);
  Want TryWrite(std::string_view bytes, bool raw, size_t& n, error_code& ec);
  Task<bool> WriteAll(std::string_view bytes, bool raw);
  void NotePeerClose();
  // False: the wait was cut (deadline, cancel) and the connection is over.
  Task<bool> WaitFor(Want want, Micros limit);

  ConnectionContext context_;
  Socket socket_;
  std::optional<TlsSession> tls_;
  std::string server_name_;
  HostView view_;            // of server_name_
  std::string logged_host_;  // empty: not under conformance.test, or not known yet
  size_t written_this_turn_ = 0;
  SteadyTime deadline_ = SteadyTime::max();
  bool hello_seen_ = false;
  bool handshake_done_ = false;
  bool in_flight_ = false;
  bool notified_ = false;  // close_notify is sent
  bool gone_ = false;
  bool close_logged_ = false;
};

// Every open connection, so that those whose peer has gone quiet can be found. Owns none of them.
class ConnectionList {
 public:
  explicit ConnectionList(size_t capacity) : capacity_(capacity) {}

  void Add(Connection& connection);
  void Removed() { --size_; }
  bool full() const { return size_ >= capacity_; }
  // Cancels what each connection is waiting for whose deadline has passed.
  void Expire(SteadyTime now);

 private:
  boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>> list_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace fetchbench::origin
