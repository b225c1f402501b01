#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/net.h"
#include "origin/certificate_store.h"
#include "origin/host_log.h"
#include "origin/run_stats.h"
#include "origin/world.h"

namespace fetchbench::origin {

// Where the origin listens, for GET /v1/config.
struct Endpoints {
  std::string dns;  // "127.0.0.1:PORT"
  uint16_t http_port = 0;
  uint16_t https_port = 0;
};

// The HTTP/1.1 endpoint through which a run reads the origin's set-up and what it saw:
//   GET  /v1/config  /v1/ca.pem  /v1/runs/ID  /v1/hosts/NAME     POST /v1/certificates  /v1/runs/ID
// Meant for the run's own network: it has no authentication and gives nothing away but a CA
// certificate. The io_context's thread only; what is passed by reference must outlive it.
class ControlServer {
 public:
  ControlServer(net::io_context& io, const World& world, CertificateStore& certificates,
                RunStats& stats, HostLog& log)
      : io_(io),
        world_(world),
        certificates_(certificates),
        stats_(stats),
        log_(log),
        acceptor_(io) {}

  // "127.0.0.1:0", or "unix:PATH": a socket that every user may connect to who may enter its
  // folder.
  absl::Status Listen(const std::string& address);
  void Start(Endpoints endpoints);

  // "http://127.0.0.1:PORT", or as given.
  const std::string& url() const { return url_; }

 private:
  static constexpr int kMaxConnections = 64;
  static constexpr uint64_t kMaxBody = 64 << 20;
  static constexpr std::chrono::seconds kIdle{30};

  struct Reply {
    int status = 200;
    std::string type = "application/json";
    std::string body;
  };
  struct Call {
    std::string method;
    std::string path;
    std::string body;
  };

  using Protocol = net::generic::stream_protocol;

  absl::Status ListenOnSocket(const std::string& path);
  Task<> Accept();
  Task<> Serve(Protocol::socket socket);
  Task<Reply> Handle(Call call);
  Reply HandleGet(std::string_view path);
  Task<Reply> IssueCertificates(std::string lines);
  uint64_t IssueFor(std::string_view host);
  std::string ConfigJson() const;

  net::io_context& io_;
  const World& world_;
  CertificateStore& certificates_;
  RunStats& stats_;
  HostLog& log_;
  net::basic_socket_acceptor<Protocol> acceptor_;
  std::string url_;
  Endpoints endpoints_;
  int connections_ = 0;
};

}  // namespace fetchbench::origin
