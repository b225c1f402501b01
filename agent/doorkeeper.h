#pragma once

#include <grpcpp/server_builder.h>
#include <poll.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "common/fd.h"
#include "common/stop_event.h"

namespace fetchbench::agent {

// How many connections there may be at once, whoever opened them; less where the limit of
// descriptors is low. A coordinator needs one or two.
inline constexpr size_t kMaxConnections = 256;

// Accepts connections for a gRPC server, because gRPC 1.51 never accepts another one once it ran
// out of descriptors or a client hung up too early: every stranger who can connect could close the
// door for good. Its thread waits until descriptors are there again, and hangs up on whoever comes
// when too many are there already. It keeps a descriptor of its own of each connection, until that
// has ended: so it knows how many there are, and can end them, which gRPC 1.51 has no call for.
class Doorkeeper {
 public:
  // `server` belongs to a server that is started; it must not be shut down before this is gone.
  Doorkeeper(std::vector<Fd> listeners,
             std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server);
  ~Doorkeeper();  // closes the listeners
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  // From any thread. Ends all connections at once, what has come on them and was not read included,
  // and those that come until LetIn. Returns how many there were.
  size_t HangUp();
  void LetIn() { closed_ = false; }

  // From any thread: those that have not ended.
  size_t connections() const;

 private:
  void Run();
  void ForgetEnded(std::span<const pollfd> polled);
  // Takes the connections that wait there. False: there is no room for more.
  bool AcceptFrom(const Fd& listener);
  void Admit(Fd connection, const Fd& listener);
  void Complain(const char* why);

  const std::vector<Fd> listeners_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  const int highest_;  // descriptor that a connection may have
  std::atomic<bool> closed_ = false;
  mutable std::mutex mutex_;
  std::vector<Fd> connections_;  // gRPC's, in descriptors of our own; changed by our thread alone
  bool crowded_ = false;         // said so, and nobody was let in since
  StopEvent stop_;
  std::thread thread_;
};

}  // namespace fetchbench::agent
