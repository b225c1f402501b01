#pragma once

#include <grpcpp/server.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/connection_book.h"
#include "agent/doorkeeper.h"
#include "agent/listen_address.h"
#include "agent/listen_security.h"
#include "agent/memory_watch.h"
#include "agent/run_keeper.h"
#include "agent/service.h"
#include "common/clock.h"
#include "common/io_thread.h"
#include "common/metrics.h"

namespace fetchbench::agent {

// How long a stop may take; the program ends itself then. Most of it is for the Engine, which takes
// some time to remove a container; without one a stop takes about a second.
inline constexpr std::chrono::seconds kStopLimit{10};

// The daemon: gRPC server with health and reflection, control loop and run keeper. From one thread
// that is not the loop.
class AgentServer {
 public:
  // `listen`: HOST:PORT (port 0: one that is free) or unix:PATH, whose folder must be private to
  // this user and is made if it is not there. `credentials`: the folder of those; empty: the
  // default one where they are needed (SecureListener).
  static absl::StatusOr<std::unique_ptr<AgentServer>> Start(AgentConfig config,
                                                            const std::string& listen,
                                                            const std::string& credentials = "");
  ~AgentServer();  // stops

  // Where it listens, with the port that it got.
  const std::string& address() const { return address_; }
  // Where Prometheus finds its figures; empty: nowhere.
  std::string metrics_url() const { return metrics_ ? metrics_->url() : ""; }

  // Kills the target, ends the streams, and returns when all is gone: within kStopLimit unless
  // something hangs. Idempotent.
  void Stop();

 private:
  explicit AgentServer(AgentConfig config);
  absl::Status Listen(ListenAddress address, const ListenSecurity& security);
  absl::Status ServeMetrics();
  Task<> PublishMetrics();
  void WatchMemory();

  SystemClock clock_;
  ConnectionBook connections_;  // calls on the loop refer to it
  IoThread loop_;
  RunKeeper keeper_;
  AgentService service_;
  std::unique_ptr<MetricsServer> metrics_;  // null: nobody asked for it
  net::steady_timer metrics_timer_;
  bool stopping_ = false;  // on the loop
  std::unique_ptr<grpc::Server> server_;
  std::optional<Doorkeeper> door_;    // ends before the server
  std::optional<MemoryWatch> watch_;  // ends before the door
  std::string address_;
  std::string socket_path_;  // to remove at the end; empty for TCP
};

}  // namespace fetchbench::agent
