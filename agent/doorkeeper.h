#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/connection_book.h"
#include "common/fd.h"
#include "common/stop_event.h"

namespace fetchbench::agent {

// Accepts connections for a gRPC server, because gRPC 1.51 never accepts another one once it ran
// out of descriptors or a client hung up too early: every stranger who can connect could close the
// door for good. Its thread waits until descriptors are there again; when too many are there
// already, somebody who is idle must go, and where nobody is, who comes is hung up on. A descriptor
// of its own of each connection stays in the book until that has ended: so it is known how many
// there are, and they can be ended, which gRPC 1.51 has no call for.
class Doorkeeper {
 public:
  // `server` belongs to a server that is started; it must not be shut down before this is gone.
  // `book`: outlives this; nobody else adds to it.
  Doorkeeper(std::vector<Fd> listeners,
             std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server,
             ConnectionBook& book);
  ~Doorkeeper();  // closes the listeners, and leaves the book empty
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

 private:
  void Run();
  // Takes the connections that wait there. False: there is no room for more.
  bool AcceptFrom(const Fd& listener);
  void Admit(Fd connection, const Fd& listener);
  // False, and said so: hang up on it. `own`: our descriptor of the connection.
  bool HasRoomFor(Fd own);
  void Complain(const std::string& what);

  const std::vector<Fd> listeners_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  ConnectionBook& book_;
  const int highest_;  // descriptor that a connection may have
  std::chrono::steady_clock::time_point silent_until_{};
  StopEvent stop_;
  std::thread thread_;
};

}  // namespace fetchbench::agent
