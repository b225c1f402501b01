#include "coordinator/prepare/prepare_call.h"

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <utility>

#include "common/blocking.h"
#include "common/grpc_client_stream.h"
#include "common/grpc_options.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "coordinator/prepare/image_courier.h"
#include "coordinator/prepare/patient_read.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kRetry{200};

using PrepareStream = ClientStream<v1::PrepareRequest, v1::PrepareProgress>;
using Last = absl::StatusOr<v1::PrepareProgress>;

Task<absl::Status> SendContext(PrepareStream& stream, const TargetPlan& plan,
                               const std::function<bool()>& stopped) {
  if (plan.context == nullptr) {
    co_return absl::InternalError("the agent asks for a folder where there is none");
  }
  const std::string& bytes = *plan.context;
  for (size_t begin = 0; begin < bytes.size(); begin += kMaxPieceBytes) {
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    v1::PrepareRequest piece;
    piece.set_context(bytes.substr(begin, kMaxPieceBytes));
    const absl::Status sent = co_await stream.Write(std::move(piece));
    if (!sent.ok()) co_return sent;
  }
  stream.CloseWrites();
  co_return absl::OkStatus();
}

Task<absl::Status> SendImage(PrepareStream& stream, const FleetCall& call, size_t index,
                             ImageCourier* courier) {
  if (courier == nullptr) {
    co_return absl::InternalError("the agent asks for an image where there is none");
  }
  const auto image = co_await courier->Get(index);
  if (!image.ok()) co_return image.status();
  uint64_t at = 0;
  while (true) {
    if (call.events.stopped()) co_return absl::CancelledError("stopped by the user");
    call.Tell(index, TransferText((*image)->from, at, (*image)->file.size()));
    auto bytes = (*image)->file.Read(at, kMaxPieceBytes);
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) break;
    at += bytes->size();
    v1::PrepareRequest piece;
    piece.set_image(*std::move(bytes));
    // A refusal in the middle is told by the next read.
    const absl::Status sent = co_await stream.Write(std::move(piece));
    if (!sent.ok()) co_return absl::OkStatus();
  }
  stream.CloseWrites();
  co_return absl::OkStatus();
}

v1::PrepareRequest StartOf(const FleetCall& call, const PrepareWish& wish) {
  v1::PrepareRequest request;
  v1::PrepareStart& start = *request.mutable_start();
  *start.mutable_target() = call.plan.spec;
  start.set_context_bytes(call.plan.context == nullptr ? 0 : call.plan.context->size());
  start.set_look(wish.look);
  start.set_image_id(wish.image_id);
  return request;
}

// One call. `answered` is set once the agent has said something.
Task<Last> PrepareOnce(const FleetCall& call, v1::Agent::Stub* stub, size_t index, PrepareWish wish,
                       bool& answered) {
  auto stream =
      PrepareStream::Start(call.loop, [stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Prepare(context, reactor);
      });
  // A failure is told by the next read.
  [[maybe_unused]] const absl::Status started = co_await stream.Write(StartOf(call, wish));
  bool sent = false;
  while (true) {
    auto message = co_await PatientRead<v1::PrepareProgress>(
        stream, call.limits.silence, call.events.stopped, "preparing the target");
    if (!message.ok()) {
      if (!IsEndOfStream(message.status())) co_return message.status();
      co_return absl::InternalError("the agent ended the call without saying that it is ready");
    }
    answered = true;
    BoundPeerMessage(*message);
    if (!wish.look) call.events.progress(index, *message);
    if (message->ready() || message->has_found()) {
      stream.CloseWrites();
      // The agent ends the call now; cancelling it at once would look like an accident there.
      auto end = co_await stream.Read(std::chrono::steady_clock::now() + kRetry);
      co_return *std::move(message);
    }
    if (sent || !(message->send_context() || message->send_image())) continue;
    sent = true;
    if (message->send_image()) {
      const absl::Status status = co_await SendImage(stream, call, index, wish.courier);
      if (!status.ok()) co_return status;
    } else {
      const absl::Status status = co_await SendContext(stream, call.plan, call.events.stopped);
      // A refusal in the middle is told by the next read.
      if (absl::IsCancelled(status) || absl::IsInternal(status)) co_return status;
    }
  }
}

}  // namespace

void FleetCall::Tell(size_t agent, std::string message) const {
  v1::PrepareProgress progress;
  progress.set_message(std::move(message));
  events.progress(agent, progress);
}

Task<Last> PrepareAgent(const FleetCall& call, size_t index, PrepareWish wish) {
  const AgentEndpoint& endpoint = call.endpoints[index];
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(endpoint));
  const SteadyTime limit = std::chrono::steady_clock::now() + call.limits.connect;
  net::steady_timer pause(call.loop);
  while (true) {
    bool answered = false;
    Last last = co_await PrepareOnce(call, stub.get(), index, wish, answered);
    const bool again = absl::IsUnavailable(last.status()) && !answered && !call.events.stopped() &&
                       std::chrono::steady_clock::now() + kRetry < limit;
    if (absl::IsUnavailable(last.status()) && !answered && !again) {
      const auto explain = [&] { return ExplainUnreachable(endpoint, last.status()); };
      last = co_await RunBlocking(call.loop, explain);
    }
    if (!again) co_return last;
    pause.expires_after(kRetry);
    co_await pause.async_wait(kAsTuple);
  }
}

}  // namespace fetchbench::coordinator
