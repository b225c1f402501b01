#include "coordinator/run/cancel_run.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "common/all_of.h"
#include "common/busy_words.h"
#include "common/grpc_client_stream.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/describe_agents.h"
#include "coordinator/prepare/patient_read.h"
#include "coordinator/prepare/patient_write.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::seconds kCancelLimit{10};
constexpr std::chrono::seconds kAnswerLimit{2};
constexpr std::chrono::milliseconds kTakenBackPause{100};
constexpr std::string_view kSessionMark = ".";

std::chrono::milliseconds TimeUntil(SteadyTime deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                  std::chrono::milliseconds(0));
}

using CancelStream = ClientStream<v1::CoordinatorMessage, v1::AgentMessage>;

Task<absl::Status> CancelOnce(net::any_io_executor loop, v1::Agent::Stub* stub, std::string run_id,
                              SteadyTime deadline, const std::function<bool()>& stopped) {
  const auto left = deadline - std::chrono::steady_clock::now();
  auto stream = CancelStream::Start(loop, [stub, left](grpc::ClientContext* context,
                                                       auto* reactor) {
    // Of the writes too, which one that takes nothing would hold up.
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::system_clock::duration>(left));
    stub->async()->Execute(context, reactor);
  });
  v1::CoordinatorMessage message;
  // Only the run's id matters: the options are those that the run was started with.
  message.mutable_start()->set_run_id(run_id);
  message.mutable_start()->mutable_options()->set_concurrency(1);
  message.mutable_start()->mutable_options()->set_timeout_ms(1000);
  absl::Status sent = co_await PatientWrite(stream, message, stopped);
  message.Clear();
  message.mutable_cancel()->set_reason("coordinator cancel");
  if (sent.ok()) sent = co_await PatientWrite(stream, message, stopped);
  while (true) {
    const absl::StatusOr<v1::AgentMessage> answer = co_await PatientRead<v1::AgentMessage>(
        stream, TimeUntil(deadline), stopped, "ending its run");
    if (absl::IsDeadlineExceeded(answer.status()) && std::chrono::steady_clock::now() >= deadline) {
      co_return absl::DeadlineExceededError(
          fmt::format("it has not ended its run within {} s", kCancelLimit.count()));
    }
    if (!answer.ok()) co_return answer.status();
    if (answer->has_finished() || answer->has_failed()) co_return absl::OkStatus();
    if (!answer->has_batch()) continue;
    message.Clear();
    message.mutable_ack()->set_seq(answer->batch().seq());
    // Should it fail, the next read tells why.
    (co_await PatientWrite(stream, message, stopped)).IgnoreError();
  }
}

// Its coordinator is there, and took the run back while the target stops; or the target is still
// being started.
bool MayPass(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsUnavailable(status);
}

Task<> Pause(net::any_io_executor loop) {
  net::steady_timer pause(loop, kTakenBackPause);
  co_await pause.async_wait(kAsTuple);
}

// The id of what the agent is busy with; empty: nothing.
Task<absl::StatusOr<std::string>> BusyRun(net::any_io_executor loop, AgentEndpoint endpoint,
                                          std::chrono::milliseconds limit,
                                          std::function<bool()> stopped) {
  const DescribeLimits limits{.answer = limit};
  const std::vector<AgentEndpoint> alone{std::move(endpoint)};
  const std::vector<Described> all =
      co_await DescribeAll(std::move(loop), alone, limits, std::move(stopped));
  if (!all.front().ok()) co_return all.front().status();
  co_return all.front()->response.busy_run_id();
}

// Again and again until `until` while the agent says that it may pass. It is asked each time
// whether there is still something to end, so that one that went away meanwhile is not waited for.
Task<absl::Status> EndRun(net::any_io_executor loop, BusyAgent agent, ReleaseLimits limits,
                          std::function<bool()> stopped) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(agent.endpoint));
  const SteadyTime until = std::chrono::steady_clock::now() + limits.starting;
  for (bool told = false; true; told = true) {
    const SteadyTime deadline = std::chrono::steady_clock::now() + kCancelLimit;
    absl::Status status = co_await CancelOnce(loop, stub.get(), agent.run_id, deadline, stopped);
    // A free agent looks at what it would begin: the run was over by then.
    if (absl::IsNotFound(status)) co_return absl::OkStatus();
    if (!MayPass(status) || std::chrono::steady_clock::now() >= until) co_return status;
    co_await Pause(loop);
    if (stopped()) co_return absl::CancelledError("stopped");
    const absl::StatusOr<std::string> busy =
        co_await BusyRun(loop, agent.endpoint, limits.answer, stopped);
    if (!busy.ok()) co_return busy.status();
    if (*busy != agent.run_id) co_return absl::OkStatus();
    if (!told && absl::IsUnavailable(status)) {
      spdlog::info("agent {}: waiting for it, up to {} s: {}", agent.endpoint.shown(),
                   limits.starting.count() / 1000, std::string(status.message()));
    }
  }
}

Task<> EndInto(absl::Status& result, net::any_io_executor loop, BusyAgent agent) {
  const ReleaseLimits limits{.answer = kAnswerLimit, .starting = kCancelLimit};
  std::function<bool()> never = [] { return false; };
  result = co_await EndRun(std::move(loop), std::move(agent), limits, std::move(never));
}

}  // namespace

std::vector<absl::Status> EndRuns(const std::vector<BusyAgent>& agents) {
  net::io_context loop(1);
  std::vector<absl::Status> results(agents.size(),
                                    absl::InternalError("a bug ended the cancellation"));
  std::vector<Task<>> tasks;
  for (size_t i = 0; i < agents.size(); ++i) {
    tasks.push_back(EndInto(results[i], loop.get_executor(), agents[i]));
  }
  net::co_spawn(loop, AllOf(loop.get_executor(), std::move(tasks)), net::detached);
  loop.run();
  return results;
}

std::string SessionId(const std::string& run_id, uint32_t number) {
  return number <= 1 ? run_id : fmt::format("{}{}{}", run_id, kSessionMark, number);
}

bool IsSessionOf(std::string_view session_id, std::string_view run_id) {
  if (!session_id.starts_with(run_id)) return false;
  session_id.remove_prefix(run_id.size());
  return session_id.empty() || session_id.starts_with(kSessionMark);
}

std::string RunOfSession(std::string_view session_id) {
  return std::string(session_id.substr(0, session_id.find(kSessionMark)));
}

Task<absl::Status> ReleaseFromRun(net::any_io_executor loop, AgentEndpoint endpoint,
                                  std::string run_id, ReleaseLimits limits,
                                  std::function<bool()> stopped) {
  const absl::StatusOr<std::string> busy = co_await BusyRun(loop, endpoint, limits.answer, stopped);
  if (!busy.ok()) co_return busy.status();
  if (busy->empty()) co_return absl::OkStatus();
  if (!IsSessionOf(*busy, run_id)) {
    co_return absl::ResourceExhaustedError(fmt::format("{}{}", kBusyWithRun, *busy));
  }
  BusyAgent agent{std::move(endpoint), *busy};
  co_return co_await EndRun(std::move(loop), std::move(agent), limits, std::move(stopped));
}

}  // namespace fetchbench::coordinator
