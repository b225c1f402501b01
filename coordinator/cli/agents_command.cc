#include "coordinator/cli/agents_command.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <memory>

#include "common/grpc_client_stream.h"
#include "common/record_line.h"
#include "common/standard_streams.h"
#include "common/status_util.h"
#include "coordinator/run/agent_session.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/text.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::seconds kDescribeLimit{5};
constexpr std::chrono::seconds kCancelLimit{10};

using Described = absl::StatusOr<v1::DescribeResponse>;

Described Describe(const std::string& address) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDescribeLimit);
  v1::DescribeResponse response;
  const grpc::Status status = stub->Describe(&context, v1::DescribeRequest(), &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

// All at once: one that does not answer costs its time once.
std::vector<Described> DescribeAll(const std::vector<std::string>& addresses) {
  std::vector<std::future<Described>> futures;
  futures.reserve(addresses.size());
  for (const std::string& address : addresses) {
    futures.push_back(std::async(std::launch::async, Describe, address));
  }
  std::vector<Described> results;
  results.reserve(addresses.size());
  for (auto& future : futures) results.push_back(future.get());
  return results;
}

std::string StateOf(const v1::DescribeResponse& agent) {
  if (agent.busy_run_id().empty()) return "free";
  std::string since;
  AppendRfc3339(since, agent.busy_since_us());
  return fmt::format("busy with run {} since {}", agent.busy_run_id(), since);
}

std::string RowOf(const std::string& address, const Described& described) {
  if (!described.ok()) {
    return fmt::format("{}: not reachable: {}", address, std::string(described.status().message()));
  }
  const v1::HostFacts& host = described->host();
  std::string targets;
  for (const std::string& target : described->targets()) {
    targets += (targets.empty() ? "" : ", ") + target;
  }
  return fmt::format("{}: {}; fetchbench {}; {}, {}, {} CPUs, {} memory, {}; targets: {}", address,
                     StateOf(*described), described->version(), host.hostname(), host.cpu_model(),
                     host.cpus(), HumanBytes(static_cast<double>(host.memory_bytes())), host.os(),
                     targets.empty() ? "none" : targets);
}

using CancelStream = ClientStream<v1::CoordinatorMessage, v1::AgentMessage>;

// Takes the run over, ends it, and lets go of what it still sends.
Task<absl::Status> CancelRun(net::any_io_executor loop, v1::Agent::Stub* stub, std::string run_id) {
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

absl::Status Cancel(const std::string& address, const std::string& run_id) {
  net::io_context loop(1);
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(address));
  absl::Status result = absl::InternalError("a bug ended the cancellation");
  net::co_spawn(loop, CancelRun(loop.get_executor(), stub.get(), run_id),
                [&result](std::exception_ptr e, absl::Status status) {
                  if (!e) result = std::move(status);
                });
  loop.run();
  return result;
}

// `code`, or another when the text could not be printed.
ExitCode Print(const std::string& text, ExitCode code) {
  const absl::Status written = WriteText(STDOUT_FILENO, text);
  if (written.ok()) return code;
  const std::string why(written.message());
  WriteText(STDERR_FILENO, "coordinator: standard output: " + why + "\n").IgnoreError();
  return ExitCode::kInternalError;
}

}  // namespace

ExitCode ListAgents(const std::vector<std::string>& addresses) {
  const std::vector<Described> agents = DescribeAll(addresses);
  ExitCode code = ExitCode::kDone;
  std::string text;
  for (size_t i = 0; i < agents.size(); ++i) {
    text += Harmless(RowOf(addresses[i], agents[i])) + "\n";
    if (!agents[i].ok()) code = ExitCode::kIncomplete;
  }
  return Print(text, code);
}

ExitCode CancelRuns(const std::vector<std::string>& addresses) {
  const std::vector<Described> agents = DescribeAll(addresses);
  ExitCode code = ExitCode::kDone;
  for (size_t i = 0; i < agents.size(); ++i) {
    std::string said;
    if (!agents[i].ok()) {
      said = RowOf(addresses[i], agents[i]);
      code = ExitCode::kIncomplete;
    } else if (agents[i]->busy_run_id().empty()) {
      said = fmt::format("{}: free already", addresses[i]);
    } else if (absl::Status s = Cancel(addresses[i], agents[i]->busy_run_id()); s.ok()) {
      said = fmt::format("{}: run {} is ended", addresses[i], agents[i]->busy_run_id());
    } else {
      said = fmt::format("{}: run {} could not be ended: {}", addresses[i],
                         agents[i]->busy_run_id(), std::string(s.message()));
      code = ExitCode::kIncomplete;
    }
    if (const ExitCode printed = Print(Harmless(said) + "\n", code); printed != code)
      return printed;
  }
  return code;
}

}  // namespace fetchbench::coordinator
