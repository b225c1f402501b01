#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <string>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net.h"

namespace fetchbench::docker {

class EngineConnection;

// The connections under way of one client, so that all can be cut off at once. On the loop.
using ConnectionSet = std::unordered_set<EngineConnection*>;

// Where an Engine is.
struct EnginePort {
  net::any_io_executor loop;
  std::string socket_path;
  std::shared_ptr<ConnectionSet> open = std::make_shared<ConnectionSet>();
};

// One connection to the Engine with one deadline for all that happens on it: when it strikes the
// socket is closed, and whatever waits on it ends with an error. On the loop.
class EngineConnection : public std::enable_shared_from_this<EngineConnection> {
 public:
  using Socket = net::local::stream_protocol::socket;

  // Connects. `what` names the call in error texts; an error says what to do.
  static Task<absl::StatusOr<std::shared_ptr<EngineConnection>>> Open(EnginePort port,
                                                                      std::string what,
                                                                      SteadyTime deadline);
  EngineConnection(const EnginePort& port, std::string what);
  ~EngineConnection();

  // SteadyTime::max(): none.
  void SetDeadline(SteadyTime deadline);
  void Close();
  void Cancel();  // closes it on behalf of the client's owner

  // The error of an operation on the socket as a Status: names the call, and the deadline when that
  // was the reason.
  absl::Status Explain(error_code error) const;

  Socket& socket() { return socket_; }
  // What was read beyond a reply's head.
  boost::beast::flat_buffer& buffer() { return buffer_; }
  const std::string& what() const { return what_; }

 private:
  std::shared_ptr<ConnectionSet> set_;
  const std::string path_;
  const std::string what_;
  Socket socket_;
  net::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  SteadyTime opened_;
  bool timed_out_ = false;
  bool cancelled_ = false;
};

}  // namespace fetchbench::docker
