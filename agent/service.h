#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "agent/connection_book.h"
#include "agent/run_keeper.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::agent {

// The Agent service: takes calls on gRPC's threads and carries them to the loop, where `keeper`
// lives. Each call is in `connections`, which outlives the loop, for as long as it goes on.
class AgentService final : public v1::Agent::CallbackService {
 public:
  AgentService(RunKeeper& keeper, net::any_io_executor loop, ConnectionBook& connections);

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override;
  grpc::ServerBidiReactor<v1::PrepareRequest, v1::PrepareProgress>* Prepare(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* Execute(
      grpc::CallbackServerContext* context) override;

  grpc::ServerBidiReactor<v1::ExportImageRequest, v1::ImagePiece>* ExportImage(
      grpc::CallbackServerContext* context) override;

 private:
  RunKeeper& keeper_;
  net::any_io_executor loop_;
  ConnectionBook& connections_;
};

}  // namespace fetchbench::agent
