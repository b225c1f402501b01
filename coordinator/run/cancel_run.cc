#include "coordinator/run/cancel_run.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>

#include "common/grpc_client_stream.h"
#include "common/status_util.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::seconds kCancelLimit{10};
constexpr std::string_view kSessionMark = ".";

using CancelStream = ClientStream<v1::CoordinatorMessage, v1::AgentMessage>;

Task<absl::Status> Cancel(net::any_io_executor loop, v1::Agent::Stub* stub, std::string run_id) {
  auto stream = CancelStream::Start(loop, [stub](grpc::ClientContext* context, auto* reactor) {
    stub->async()->Execute(context, reactor);
  });
  v1::CoordinatorMessage message;
  // Only the run's id matters: the options are those that the run was started with.
  message.mutable_start()->set_run_id(run_id);
  message.mutable_start()->mutable_options()->set_concurrency(1);
  message.mutable_start()->mutable_options()->set_timeout_ms(1000);
  absl::Status sent = co_await stream.Write(message);
  message.Clear();
  message.mutable_cancel()->set_reason("coordinator cancel");
  if (sent.ok()) sent = co_await stream.Write(message);
  const SteadyTime deadline = std::chrono::steady_clock::now() + kCancelLimit;
  while (true) {
    const absl::StatusOr<v1::AgentMessage> answer = co_await stream.Read(deadline);
    if (!answer.ok()) co_return answer.status();
    if (answer->has_finished() || answer->has_failed()) co_return absl::OkStatus();
    if (!answer->has_batch()) continue;
    message.Clear();
    message.mutable_ack()->set_seq(answer->batch().seq());
    sent = co_await stream.Write(message);
    if (!sent.ok()) co_return sent;
  }
}

}  // namespace

absl::StatusOr<v1::DescribeResponse> DescribeAgent(const AgentEndpoint& endpoint,
                                                   std::chrono::milliseconds limit) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(endpoint));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  v1::DescribeResponse response;
  const grpc::Status status = stub->Describe(&context, v1::DescribeRequest(), &response);
  if (!status.ok()) return ExplainUnreachable(endpoint, FromGrpc(status));
  BoundPeerMessage(response);
  return response;
}

absl::Status CancelRun(const AgentEndpoint& endpoint, const std::string& run_id) {
  net::io_context loop(1);
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(endpoint));
  absl::Status result = absl::InternalError("a bug ended the cancellation");
  net::co_spawn(loop, Cancel(loop.get_executor(), stub.get(), run_id),
                [&result](std::exception_ptr e, absl::Status status) {
                  if (!e) result = std::move(status);
                });
  loop.run();
  return result;
}

std::string SessionId(const std::string& run_id, uint32_t number) {
  return number <= 1 ? run_id : fmt::format("{}{}{}", run_id, kSessionMark, number);
}

bool IsSessionOf(std::string_view session_id, std::string_view run_id) {
  if (!session_id.starts_with(run_id)) return false;
  session_id.remove_prefix(run_id.size());
  return session_id.empty() || session_id.starts_with(kSessionMark);
}

absl::Status ReleaseFromRun(const AgentEndpoint& endpoint, const std::string& run_id,
                            std::chrono::milliseconds limit) {
  const auto described = DescribeAgent(endpoint, limit);
  if (!described.ok()) return described.status();
  const std::string& busy = described->busy_run_id();
  if (busy.empty()) return absl::OkStatus();
  if (!IsSessionOf(busy, run_id)) {
    return absl::ResourceExhaustedError(fmt::format("busy with run {}", busy));
  }
  return CancelRun(endpoint, busy);
}

}  // namespace fetchbench::coordinator
