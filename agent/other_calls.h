#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "agent/connection_book.h"

namespace fetchbench::agent {

// Makes the calls of gRPC's own services, health and reflection, count as such in the book of
// connections. Those of our service do it by themselves: gRPC asks nobody about each of their
// messages. `connections` outlives the server and its calls.
class OtherCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit OtherCalls(ConnectionBook& connections) : connections_(connections) {}

  // On any of gRPC's threads. Null: the call is one of our service.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  ConnectionBook& connections_;
};

}  // namespace fetchbench::agent
