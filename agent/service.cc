#include "agent/service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/execute_stream.h"
#include "common/grpc_server_writer.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

using PrepareWriter = ServerWriter<v1::PrepareProgress>;

Task<> ServePrepare(PrepareWriter writer, RunKeeper& keeper, v1::TargetSpec target) {
  v1::PrepareProgress progress;
  progress.set_message("asking target " + target.name() + " what it is");
  writer.Write(progress);
  absl::StatusOr<v1::TargetFacts> facts = co_await keeper.Facts(std::move(target));
  if (!facts.ok()) {
    writer.Finish(facts.status());
    co_return;
  }
  progress.set_message("target " + facts->name() + " is ready");
  progress.set_ready(true);
  *progress.mutable_facts() = std::move(*facts);
  writer.Write(std::move(progress));
  writer.Finish(absl::OkStatus());
}

}  // namespace

AgentService::AgentService(RunKeeper& keeper, net::any_io_executor loop)
    : keeper_(keeper), loop_(std::move(loop)) {}

grpc::ServerUnaryReactor* AgentService::Describe(grpc::CallbackServerContext* context,
                                                 const v1::DescribeRequest* /*request*/,
                                                 v1::DescribeResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  net::post(loop_, [this, reactor, response] {
    *response = keeper_.Describe();
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::PrepareProgress>* AgentService::Prepare(
    grpc::CallbackServerContext* /*context*/, const v1::PrepareRequest* request) {
  return PrepareWriter::Accept(loop_, [this, target = request->target()](PrepareWriter writer) {
    Spawn(loop_, "prepare", ServePrepare(std::move(writer), keeper_, target));
  });
}

grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* AgentService::Execute(
    grpc::CallbackServerContext* context) {
  return ExecuteStream::Accept(context, loop_, [this](ExecuteStream stream) {
    Spawn(loop_, "execute", ServeExecute(std::move(stream), keeper_, loop_));
  });
}

}  // namespace fetchbench::agent
