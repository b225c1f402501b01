#include "agent/service.h"

#include <utility>

#include "agent/execute_stream.h"
#include "agent/prepare_stream.h"
#include "agent/ship_image.h"
#include "common/grpc_server_stream.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

// What is taken off the wire ahead of the loop, which takes each message at once: each can be much
// larger here than on its way.
constexpr StreamLimits kLimits{.inbox_messages = 4};

// The answer is sent before the coroutine ends: nothing of the call is touched after it.
Task<> ServeDescribe(grpc::ServerUnaryReactor* reactor, v1::DescribeResponse* response,
                     RunKeeper& keeper, int64_t received_us) {
  *response = co_await keeper.Describe();
  response->set_received_us(received_us);
  reactor->Finish(grpc::Status::OK);
}

// Serves a call whose connection is in use until it is served.
Task<> Using(ConnectionBook::Use /*use*/, Task<> served) { co_await std::move(served); }

}  // namespace

AgentService::AgentService(RunKeeper& keeper, net::any_io_executor loop,
                           ConnectionBook& connections)
    : keeper_(keeper), loop_(std::move(loop)), connections_(connections) {}

grpc::ServerUnaryReactor* AgentService::Describe(grpc::CallbackServerContext* context,
                                                 const v1::DescribeRequest* /*request*/,
                                                 v1::DescribeResponse* response) {
  const int64_t received_us = keeper_.clock().WallUs();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Spawn(loop_, "describe",
        Using(connections_.Begin(context->peer()),
              ServeDescribe(reactor, response, keeper_, received_us)));
  return reactor;
}

grpc::ServerBidiReactor<v1::PrepareRequest, v1::PrepareProgress>* AgentService::Prepare(
    grpc::CallbackServerContext* context) {
  return PrepareStream::Accept(
      context, loop_,
      [this, peer = context->peer()](PrepareStream stream) {
        Spawn(loop_, "prepare",
              Using(connections_.Begin(peer), ServePrepare(std::move(stream), keeper_, loop_)));
      },
      kLimits);
}

grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* AgentService::Execute(
    grpc::CallbackServerContext* context) {
  return ExecuteStream::Accept(
      context, loop_,
      [this, peer = context->peer()](ExecuteStream stream) {
        Spawn(loop_, "execute",
              Using(connections_.Begin(peer), ServeExecute(std::move(stream), keeper_, loop_)));
      },
      kLimits);
}

grpc::ServerBidiReactor<v1::ExportImageRequest, v1::ImagePiece>* AgentService::ExportImage(
    grpc::CallbackServerContext* context) {
  return ExportStream::Accept(
      context, loop_,
      [this, peer = context->peer()](ExportStream stream) {
        Spawn(loop_, "export",
              Using(connections_.Begin(peer), ServeExport(std::move(stream), keeper_)));
      },
      kLimits);
}

}  // namespace fetchbench::agent
