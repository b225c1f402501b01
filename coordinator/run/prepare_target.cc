#include "coordinator/run/prepare_target.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "common/docker/context_tar.h"
#include "common/files.h"
#include "common/grpc_client_stream.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "coordinator/run/all_of.h"
#include "coordinator/run/blocking.h"
#include "coordinator/run/child_process.h"
#include "coordinator/run/peer_text.h"
#include "coordinator/run/staged_folder.h"
#include "coordinator/targets/build_arguments.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr std::chrono::milliseconds kLookUp{100};  // how often a stop is looked for
constexpr std::chrono::milliseconds kRetry{200};

using PrepareStream = ClientStream<v1::PrepareRequest, v1::PrepareProgress>;
using Facts = absl::StatusOr<v1::TargetFacts>;

absl::StatusOr<docker::ContextTar> PackFolder(const TargetInfo& target) {
  if (target.stage.empty()) return docker::PackContext(target.folder);
  const auto staged = StagedFolder::Make(target.folder, ProgramFolder(), target.stage);
  if (!staged.ok()) return staged.status();
  return docker::PackContext(staged->path());
}

absl::StatusOr<TargetPlan> PackTarget(const RunOptions& options) {
  TargetPlan plan;
  plan.spec.set_name(options.target.name);
  if (!options.target.is_container()) return plan;
  if (!options.image.empty()) {
    plan.spec.set_image(options.image);
    return plan;
  }
  const std::string dockerfile = options.target.folder + "/Dockerfile";
  if (absl::Status s = CheckIsFile(dockerfile); !s.ok()) return s;
  const auto text = ReadTextFile(dockerfile);
  if (!text.ok()) return text.status();
  const auto images = ReadBaseImages(options.base_images, options.base_images_must_exist);
  if (!images.ok()) return images.status();
  const auto arguments =
      ChooseArguments(DeclaredArguments(*text), *images, options.build_arguments);
  if (!arguments.ok()) return arguments.status();
  if (absl::Status s = CheckBaseImages(RegistryImages(*text), *images, *arguments); !s.ok())
    return s;
  auto packed = PackFolder(options.target);
  if (!packed.ok()) return packed.status();
  plan.spec.set_context_sha256(packed->sha256);
  plan.spec.mutable_build_args()->insert(arguments->begin(), arguments->end());
  plan.context = std::make_shared<const std::string>(std::move(packed->bytes));
  return plan;
}

// The next message, or why there is none.
Task<absl::StatusOr<v1::PrepareProgress>> ReadProgress(PrepareStream& stream,
                                                       std::chrono::milliseconds patience,
                                                       const std::function<bool()>& stopped) {
  const SteadyTime limit = std::chrono::steady_clock::now() + patience;
  while (true) {
    const SteadyTime now = std::chrono::steady_clock::now();
    auto message = co_await stream.Read(std::min(limit, now + kLookUp));
    if (message.ok() || !absl::IsDeadlineExceeded(message.status())) co_return message;
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    if (std::chrono::steady_clock::now() >= limit) {
      co_return absl::DeadlineExceededError(
          fmt::format("the agent said nothing for {} s while preparing the target",
                      std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
    }
  }
}

Task<absl::Status> SendContext(PrepareStream& stream, const TargetPlan& plan,
                               const std::function<bool()>& stopped) {
  if (plan.context == nullptr) {
    co_return absl::InternalError("the agent asks for a folder where there is none");
  }
  const std::string& bytes = *plan.context;
  for (size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    v1::PrepareRequest piece;
    piece.set_context(bytes.substr(begin, kPieceBytes));
    const absl::Status sent = co_await stream.Write(std::move(piece));
    if (!sent.ok()) co_return sent;
  }
  stream.CloseWrites();
  co_return absl::OkStatus();
}

// One call. `answered` is set once the agent has said something.
Task<Facts> PrepareOnce(net::any_io_executor loop, v1::Agent::Stub* stub, size_t index,
                        const TargetPlan& plan, PrepareLimits limits, const PrepareEvents& events,
                        bool& answered) {
  auto stream = PrepareStream::Start(loop, [stub](grpc::ClientContext* context, auto* reactor) {
    stub->async()->Prepare(context, reactor);
  });
  v1::PrepareRequest start;
  *start.mutable_start()->mutable_target() = plan.spec;
  start.mutable_start()->set_context_bytes(plan.context == nullptr ? 0 : plan.context->size());
  const absl::Status started = co_await stream.Write(std::move(start));
  bool sent = false;
  while (true) {
    auto message = co_await ReadProgress(stream, limits.silence, events.stopped);
    if (!message.ok()) {
      if (!IsEndOfStream(message.status())) co_return message.status();
      co_return absl::InternalError("the agent ended the call without saying that it is ready");
    }
    answered = true;
    BoundPeerMessage(*message);
    events.progress(index, *message);
    if (message->ready()) {
      stream.CloseWrites();
      // The agent ends the call now; cancelling it at once would look like an accident there.
      auto end = co_await stream.Read(std::chrono::steady_clock::now() + kRetry);
      co_return std::move(*message->mutable_facts());
    }
    if (message->send_context() && !sent) {
      sent = true;
      const absl::Status status = co_await SendContext(stream, plan, events.stopped);
      // A refusal in the middle is told by the next read.
      if (absl::IsCancelled(status) || absl::IsInternal(status)) co_return status;
    }
  }
}

// An agent that is only just being started is waited for.
Task<Facts> PrepareOne(net::any_io_executor loop, AgentEndpoint endpoint, size_t index,
                       TargetPlan plan, PrepareLimits limits, PrepareEvents events) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(endpoint));
  const SteadyTime limit = std::chrono::steady_clock::now() + limits.connect;
  net::steady_timer pause(loop);
  while (true) {
    bool answered = false;
    Facts facts = co_await PrepareOnce(loop, stub.get(), index, plan, limits, events, answered);
    const bool again = absl::IsUnavailable(facts.status()) && !answered && !events.stopped() &&
                       std::chrono::steady_clock::now() + kRetry < limit;
    if (absl::IsUnavailable(facts.status()) && !answered && !again) {
      const auto explain = [&] { return ExplainUnreachable(endpoint, facts.status()); };
      facts = co_await RunBlocking(loop, explain);
    }
    if (!again) co_return facts;
    pause.expires_after(kRetry);
    co_await pause.async_wait(kAsTuple);
  }
}

Task<> PrepareInto(Facts& result, net::any_io_executor loop, AgentEndpoint endpoint, size_t index,
                   TargetPlan plan, PrepareLimits limits, PrepareEvents events) {
  result = co_await PrepareOne(std::move(loop), std::move(endpoint), index, std::move(plan), limits,
                               std::move(events));
}

}  // namespace

Task<absl::StatusOr<TargetPlan>> PlanTarget(net::any_io_executor loop, const RunOptions& options) {
  // RunBlocking wants a result that can be made empty, which StatusOr's is: an unknown error.
  const auto pack = [&options] { return PackTarget(options); };
  auto plan = co_await RunBlocking(std::move(loop), pack);
  co_return plan;
}

Task<std::vector<Facts>> PrepareAll(net::any_io_executor loop, std::vector<AgentEndpoint> endpoints,
                                    TargetPlan plan, PrepareLimits limits, PrepareEvents events) {
  std::vector<Facts> results(endpoints.size(), absl::InternalError("a bug ended the preparation"));
  std::vector<Task<>> tasks;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    tasks.push_back(PrepareInto(results[i], loop, endpoints[i], i, plan, limits, events));
  }
  co_await AllOf(loop, std::move(tasks));
  co_return results;
}

}  // namespace fetchbench::coordinator
