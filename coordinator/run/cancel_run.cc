#include "coordinator/run/cancel_run.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>

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

Task<absl::Status> Cancel(net::any_io_executor loop, v1::Agent::Stub* stub, std::string run_id,
                          const std::function<bool()>& stopped) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kCancelLimit;
  net::steady_timer pause(loop);
  while (true) {
    absl::Status status = co_await CancelOnce(loop, stub, run_id, deadline, stopped);
    // A free agent looks at what it would begin: the run was over by then.
    if (absl::IsNotFound(status)) co_return absl::OkStatus();
    // Its coordinator is there, and took the run back while the target stops; or the target is
    // still being started.
    const bool may_pass = absl::IsAborted(status) || absl::IsUnavailable(status);
    if (!may_pass || std::chrono::steady_clock::now() >= deadline) co_return status;
    pause.expires_after(kTakenBackPause);
    co_await pause.async_wait(kAsTuple);
  }
}

Task<absl::Status> EndRun(net::any_io_executor loop, BusyAgent agent,
                          std::function<bool()> stopped) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(agent.endpoint));
  co_return co_await Cancel(std::move(loop), stub.get(), std::move(agent.run_id), stopped);
}

Task<> EndInto(absl::Status& result, net::any_io_executor loop, BusyAgent agent) {
  std::function<bool()> never = [] { return false; };
  result = co_await EndRun(std::move(loop), std::move(agent), std::move(never));
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
                                  std::string run_id, std::chrono::milliseconds limit,
                                  std::function<bool()> stopped) {
  const DescribeLimits limits{.answer = limit};
  const std::vector<AgentEndpoint> alone{endpoint};
  const std::vector<Described> all = co_await DescribeAll(loop, alone, limits, stopped);
  const Described& described = all.front();
  if (!described.ok()) co_return described.status();
  const std::string& busy = described->response.busy_run_id();
  if (busy.empty()) co_return absl::OkStatus();
  if (!IsSessionOf(busy, run_id)) {
    co_return absl::ResourceExhaustedError(fmt::format("{}{}", kBusyWithRun, busy));
  }
  BusyAgent agent{std::move(endpoint), busy};
  co_return co_await EndRun(std::move(loop), std::move(agent), std::move(stopped));
}

}  // namespace fetchbench::coordinator
