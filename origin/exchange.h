#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net.h"
#include "origin/host_plan.h"

namespace fetchbench::origin {

class Connection;

// A request as it was parsed. Header names keep the case they were sent in.
struct Request {
  std::string method;
  std::string target;  // as sent: "/path?query"
  std::string host;    // the Host header in lower case, without port and final dot
  std::vector<std::pair<std::string, std::string>> headers;
  int number_on_connection = 0;  // 0 for the first request of a connection

  // The first header of that name, case ignored; empty when there is none.
  std::string_view Header(std::string_view name) const;
};

// What a behaviour may do with the connection that a request came in on. A handle of two pointers,
// to be passed by value; valid until the `serve` coroutine that it was given to returns. All on the
// origin's one thread.
//
// After `serve` returns the connection is closed (with a TLS close_notify where the host's TlsPlan
// has it), unless it was reset or closed already or KeepAlive() was called. A client that goes away
// makes writes return false: stop then. Every wait is cut at kMaxHold.
class Exchange {
 public:
  // Longest time that one behaviour may hold a connection in one wait.
  static constexpr std::chrono::seconds kMaxHold{120};

  Exchange(Connection& connection, const Request& request)
      : connection_(&connection), request_(&request) {}

  const Request& request() const { return *request_; }
  bool tls() const;

  // Writes raw bytes, through TLS where the connection has it. Returns when the kernel has taken
  // all of them; false: the peer is gone.
  Task<bool> Write(std::string bytes) const;

  // Writes `count` bytes of the origin's body pattern without holding them in memory.
  Task<bool> WritePattern(uint64_t count) const;

  // The wait counts in the origin's lateness.
  Task<> Sleep(Micros time) const;

  // Aborts the connection: the peer gets a RST.
  void Reset() const;

  // Closes both directions; bare_fin leaves the TLS close_notify out.
  Task<> Close(bool bare_fin) const;

  // Ends the sending direction only: close_notify (unless bare_fin) and FIN; reading goes on.
  Task<> HalfClose(bool bare_fin) const;

  // Reads and drops what the peer sends until it closes or `limit` is over. True: it closed.
  Task<bool> WaitForPeerClose(Micros limit) const;

  // The connection serves another request after `serve` returns.
  void KeepAlive() const;

 private:
  Connection* connection_;
  const Request* request_;
};

}  // namespace fetchbench::origin
