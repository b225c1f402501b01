#pragma once

#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/grpc_options.h"

namespace fetchbench::test {

// A gRPC server in plaintext on a free port of loopback, with the options of ours. `service`
// outlives it.
class LoopbackServer {
 public:
  explicit LoopbackServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    address_ = fmt::format("127.0.0.1:{}", port);
  }
  ~LoopbackServer() { End(); }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  // It is gone.
  void End() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    server_->Wait();
    server_.reset();
  }
  const std::string& address() const { return address_; }  // "127.0.0.1:port"

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace fetchbench::test
