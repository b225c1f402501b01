#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <thread>
#include <vector>

#include "common/fd.h"

namespace fetchbench::agent {

// How many connections there may be, whoever opened them; less where the limit of descriptors is
// low. They are counted with what else the agent has open.
inline constexpr int kMaxConnections = 1'024;

// Accepts connections for a gRPC server, because gRPC 1.51 never accepts another one once it ran
// out of descriptors or a client hung up too early: every stranger who can connect could close the
// door for good. Its thread waits until descriptors are there again, and hangs up on whoever comes
// when too many are taken already.
class Doorkeeper {
 public:
  // `server` belongs to a server that is started; it must not be shut down before this is gone.
  Doorkeeper(std::vector<Fd> listeners,
             std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server);
  ~Doorkeeper();  // closes the listeners
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

 private:
  void Run();
  // Takes the connections that wait there. False: there is no room for more.
  bool AcceptFrom(const Fd& listener);
  void Admit(Fd connection, const Fd& listener);
  void Complain(const char* why);

  const std::vector<Fd> listeners_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  const int highest_;     // descriptor that a connection may have
  bool crowded_ = false;  // said so, and nobody was let in since
  const Fd stop_;
  std::thread thread_;
};

}  // namespace fetchbench::agent
