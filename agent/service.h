#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "agent/run_keeper.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::agent {

// The Agent service: takes calls on gRPC's threads and carries them to the loop, where `keeper`
// lives.
class AgentService final : public v1::Agent::CallbackService {
 public:
  AgentService(RunKeeper& keeper, net::any_io_executor loop);

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
};

}  // namespace fetchbench::agent
