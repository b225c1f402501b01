#include "agent/service.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "agent/execute_stream.h"
#include "common/grpc_server_stream.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

// For the first message of a Prepare call to come.
constexpr std::chrono::seconds kStartLimit{30};

using PrepareStream = ServerStream<v1::PrepareProgress, v1::PrepareRequest>;

// What this call answers in the end; the progress before it is written here.
Task<absl::StatusOr<v1::PrepareProgress>> Prepare(PrepareStream& stream, RunKeeper& keeper) {
  absl::StatusOr<v1::PrepareRequest> request =
      co_await stream.Read(std::chrono::steady_clock::now() + kStartLimit);
  if (!request.ok()) co_return request.status();
  if (!request->has_start()) {
    co_return absl::InvalidArgumentError("the first message of Prepare must be its start");
  }
  v1::TargetSpec target = std::move(*request->mutable_start()->mutable_target());
  v1::PrepareProgress progress;
  progress.set_message("asking target " + target.name() + " what it is");
  if (absl::Status s = co_await stream.Write(progress); !s.ok()) co_return s;
  absl::StatusOr<v1::TargetFacts> facts = co_await keeper.Facts(std::move(target));
  if (!facts.ok()) co_return facts.status();
  progress.set_message("target " + facts->name() + " is ready");
  progress.set_ready(true);
  *progress.mutable_facts() = std::move(*facts);
  co_return progress;
}

Task<> ServePrepare(PrepareStream stream, RunKeeper& keeper) {
  absl::StatusOr<v1::PrepareProgress> last = co_await Prepare(stream, keeper);
  absl::Status status = last.status();
  if (status.ok()) status = co_await stream.Write(*std::move(last));
  co_await stream.Finish(std::move(status));
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

grpc::ServerBidiReactor<v1::PrepareRequest, v1::PrepareProgress>* AgentService::Prepare(
    grpc::CallbackServerContext* context) {
  return PrepareStream::Accept(context, loop_, [this](PrepareStream stream) {
    Spawn(loop_, "prepare", ServePrepare(std::move(stream), keeper_));
  });
}

grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* AgentService::Execute(
    grpc::CallbackServerContext* context) {
  return ExecuteStream::Accept(context, loop_, [this](ExecuteStream stream) {
    Spawn(loop_, "execute", ServeExecute(std::move(stream), keeper_, loop_));
  });
}

}  // namespace fetchbench::agent
