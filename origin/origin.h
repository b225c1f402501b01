#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "origin/certificate_store.h"
#include "origin/connection.h"
#include "origin/control_server.h"
#include "origin/dns_server.h"
#include "origin/host_log.h"
#include "origin/http_server.h"
#include "origin/options.h"
#include "origin/run_stats.h"
#include "origin/tls_context.h"
#include "origin/world.h"

namespace fetchbench::origin {

// The whole simulated web on one thread: the one that calls Run().
class Origin {
 public:
  // Loads the profile, makes the CA, raises the descriptor limit and binds everything. Ignores
  // SIGPIPE for the process. `clock` must outlive it.
  static absl::StatusOr<std::unique_ptr<Origin>> Create(const Options& options, const Clock& clock);

  // Serves until Stop().
  void Run() { io_.run(); }
  // From any thread.
  void Stop() { io_.stop(); }

  net::io_context& io() { return io_; }
  std::string control_url() const { return control_.url(); }
  net::ip::udp::endpoint dns_endpoint() const { return dns_.endpoint(); }
  uint16_t http_port() const { return http_.http_port(); }
  uint16_t https_port() const { return http_.https_port(); }
  const World& world() const { return world_; }
  const std::string& ca_pem() const { return certificates_.ca_pem(); }

 private:
  Origin(World world, CertificateStore certificates, SslContextPtr ssl_context, const Clock& clock,
         size_t max_connections);

  absl::Status Listen(const Options& options);

  // Coroutines that are still suspended die with io_, and what they refer to must still be there;
  // the servers' sockets in turn need io_. Hence this order.
  World world_;
  CertificateStore certificates_;
  SslContextPtr ssl_context_;
  RunStats stats_;
  HostLog log_;
  ConnectionList open_;
  net::io_context io_{1};
  DnsServer dns_;
  HttpServer http_;
  ControlServer control_;
};

}  // namespace fetchbench::origin
