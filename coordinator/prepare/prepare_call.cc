#include "coordinator/prepare/prepare_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string_view>
#include <utility>

#include "common/blocking.h"
#include "common/grpc_client_stream.h"
#include "common/grpc_options.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "coordinator/prepare/image_courier.h"
#include "coordinator/prepare/patient_read.h"
#include "coordinator/prepare/patient_write.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kRetry{200};

using PrepareStream = ClientStream<v1::PrepareRequest, v1::PrepareProgress>;
using Last = absl::StatusOr<v1::PrepareProgress>;

// What of an answer is not allowed after that wish; empty: nothing. `sent`: it was sent what it had
// asked for before.
std::string_view Breach(const FleetCall& call, const PrepareWish& wish,
                        const v1::PrepareProgress& answer, bool sent) {
  const bool asks = answer.send_context() || answer.send_image();
  if (wish.look) {
    if (answer.ready()) return "asked which image it has, it said that the target is ready";
    if (asks) return "asked which image it has, it wanted to be sent something";
    return "";
  }
  if (answer.has_found()) return "told to make the target ready, it said which image it has";
  if (answer.ready() && !answer.has_facts()) return "it is ready, and does not say with what";
  if (!asks) return "";
  if (answer.ready()) return "it is ready, and wants to be sent something";
  if (answer.send_context() && answer.send_image()) return "it wants both a folder and an image";
  if (sent) return "it wants to be sent something twice";
  if (answer.send_image()) {
    return wish.courier == nullptr ? "it wants an image where there is none to be sent" : "";
  }
  const bool has_folder = call.plan.context != nullptr && wish.image_id.empty();
  return has_folder ? "" : "it wants a folder where there is none to be sent";
}

// A refusal in the middle of what is sent is told by the next read.
absl::Status UnlessToldLater(const absl::Status& sent) {
  return absl::IsUnavailable(sent) ? absl::OkStatus() : sent;
}

Task<absl::Status> SendContext(PrepareStream& stream, const TargetPlan& plan,
                               const std::function<bool()>& stopped) {
  const std::string& bytes = *plan.context;
  for (size_t begin = 0; begin < bytes.size(); begin += kMaxPieceBytes) {
    v1::PrepareRequest piece;
    piece.set_context(bytes.substr(begin, kMaxPieceBytes));
    const absl::Status sent = co_await PatientWrite(stream, std::move(piece), stopped);
    if (!sent.ok()) co_return UnlessToldLater(sent);
  }
  stream.CloseWrites();
  co_return absl::OkStatus();
}

Task<absl::Status> SendImage(PrepareStream& stream, const FleetCall& call, size_t index,
                             ImageCourier& courier) {
  const auto image = co_await courier.Get(index);
  if (!image.ok()) co_return image.status();
  uint64_t at = 0;
  while (true) {
    call.Tell(index, TransferText((*image)->from, at, (*image)->file.size()));
    auto bytes = co_await (*image)->file.Read(at, kMaxPieceBytes);
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) break;
    at += bytes->size();
    v1::PrepareRequest piece;
    piece.set_image(*std::move(bytes));
    const absl::Status sent = co_await PatientWrite(stream, std::move(piece), call.events.stopped);
    if (!sent.ok()) co_return UnlessToldLater(sent);
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

std::chrono::milliseconds LimitOf(const FleetCall& call, const PrepareWish& wish) {
  const bool works = call.plan.context != nullptr && !wish.look;
  return works ? call.limits.work : call.limits.look;
}

// One call. `answered` is set once the agent has said something.
Task<Last> PrepareOnce(const FleetCall& call, v1::Agent::Stub* stub, size_t index, PrepareWish wish,
                       bool& answered) {
  const auto starter = [stub](grpc::ClientContext* context, auto* reactor) {
    stub->async()->Prepare(context, reactor);
  };
  auto stream = PrepareStream::Start(call.loop, starter, {.write_deadline = call.limits.write});
  const absl::Status started =
      co_await PatientWrite(stream, StartOf(call, wish), call.events.stopped);
  if (absl::IsCancelled(started)) co_return started;  // other failures are told by the next read
  bool sent = false;
  const std::chrono::milliseconds limit = LimitOf(call, wish);
  const SteadyTime until = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto message = co_await PatientRead<v1::PrepareProgress>(
        stream, std::min(call.limits.silence, limit), call.events.stopped, "preparing the target");
    if (!message.ok()) {
      if (!IsEndOfStream(message.status())) co_return message.status();
      co_return absl::InternalError("the agent ended the call without saying that it is ready");
    }
    answered = true;
    BoundPeerMessage(*message);
    const std::string_view breach = Breach(call, wish, *message, sent);
    if (!breach.empty()) {
      co_return absl::InternalError(fmt::format("agent {} does not keep to the protocol: {}",
                                                call.endpoints[index].shown(), breach));
    }
    if (!wish.look) call.events.progress(index, *message);
    if (message->ready() || message->has_found()) {
      stream.CloseWrites();
      // The agent ends the call now; cancelling it at once would look like an accident there.
      auto end = co_await stream.Read(std::chrono::steady_clock::now() + kRetry);
      co_return *std::move(message);
    }
    if (std::chrono::steady_clock::now() >= until) {
      co_return absl::DeadlineExceededError(fmt::format(
          "the agent has not made the target ready within {} s, though it says that it is "
          "at work",
          limit.count() / 1000));
    }
    if (!message->send_context() && !message->send_image()) continue;
    sent = true;
    absl::Status passed_on;
    if (message->send_image()) {
      passed_on = co_await SendImage(stream, call, index, *wish.courier);
    } else {
      passed_on = co_await SendContext(stream, call.plan, call.events.stopped);
    }
    if (!passed_on.ok()) co_return passed_on;
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
