#include "coordinator/fleet/describe_agents.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "common/all_of.h"
#include "common/blocking.h"
#include "common/clock.h"
#include "common/status_util.h"
#include "common/wakeup.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/fleet/stop_look_up.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kRetry{200};
constexpr size_t kMostNamed = 8;  // agents in one message

// The calls to one agent, made on a thread of their own; the loop may end them.
struct Question {
  std::mutex mutex;
  grpc::ClientContext* open = nullptr;
  bool stopped = false;

  void Stop() {
    const std::lock_guard lock(mutex);
    stopped = true;
    if (open != nullptr) open->TryCancel();
  }
  // False: it was stopped before.
  bool Open(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex);
    open = context;
    return !stopped;
  }
};

struct Answer {
  v1::DescribeResponse response;
  CallTimes times;
};

absl::StatusOr<Answer> AskOnce(v1::Agent::Stub& stub,
                               std::chrono::system_clock::time_point deadline, Question& question) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  Answer answer;
  const SystemClock clock;
  grpc::Status status = grpc::Status::CANCELLED;
  if (question.Open(&context)) {
    answer.times.sent_us = clock.WallUs();
    status = stub.Describe(&context, v1::DescribeRequest(), &answer.response);
    answer.times.received_us = clock.WallUs();
  }
  if (!question.Open(nullptr)) return absl::CancelledError("stopped by the user");
  if (!status.ok()) return FromGrpc(status);
  BoundPeerMessage(answer.response);
  answer.times.arrived_us = answer.response.received_us();
  answer.times.answered_us = answer.response.host().clock_us();
  return answer;
}

Described Ask(const AgentEndpoint& endpoint, DescribeLimits limits, Question& question) {
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(endpoint));
  const auto deadline = std::chrono::system_clock::now() + limits.answer;
  absl::StatusOr<Answer> first = AskOnce(*stub, deadline, question);
  while (limits.until_there && absl::IsUnavailable(first.status()) &&
         std::chrono::system_clock::now() + kRetry < deadline) {
    std::this_thread::sleep_for(kRetry);
    first = AskOnce(*stub, deadline, question);
  }
  if (absl::IsDeadlineExceeded(first.status())) {
    return absl::UnavailableError(
        fmt::format("no answer within {} s", std::chrono::duration<double>(limits.answer).count()));
  }
  if (!first.ok()) return ExplainUnreachable(endpoint, first.status());
  absl::StatusOr<Answer> second = AskOnce(*stub, deadline, question);
  Answer& last = second.ok() ? *second : *first;
  return DescribedAgent{std::move(last.response), ClockOffsetUs(last.times),
                        RoundTripUs(last.times)};
}

// What the tasks of one DescribeAll share.
struct Asking {
  explicit Asking(const net::any_io_executor& loop, size_t count)
      : questions(count), open(count), ended(loop) {}
  std::deque<Question> questions;
  size_t open;
  Wakeup ended;
};

// Counts a task out, however it ends.
class CountedOut {
 public:
  explicit CountedOut(Asking& asking) : asking_(asking) {}
  CountedOut(const CountedOut&) = delete;
  CountedOut& operator=(const CountedOut&) = delete;
  ~CountedOut() {
    if (--asking_.open == 0) asking_.ended.Notify();
  }

 private:
  Asking& asking_;
};

Task<> DescribeInto(Described& result, net::any_io_executor loop, AgentEndpoint endpoint,
                    DescribeLimits limits, Asking& asking, size_t index) {
  const CountedOut counted(asking);
  const auto work = [&endpoint, limits, &question = asking.questions[index]] {
    return Ask(endpoint, limits, question);
  };
  result = co_await RunBlocking(std::move(loop), work);
}

Task<> WatchStop(Asking& asking, std::function<bool()> stopped) {
  while (asking.open > 0) {
    co_await asking.ended.WaitUntil(std::chrono::steady_clock::now() + kStopLookUp);
    if (!stopped()) continue;
    for (Question& question : asking.questions) question.Stop();
  }
}

int64_t ArrivedUs(const CallTimes& times) {
  return times.arrived_us == 0 ? times.answered_us : times.arrived_us;
}

}  // namespace

int64_t ClockOffsetUs(const CallTimes& times) {
  return ((ArrivedUs(times) - times.sent_us) + (times.answered_us - times.received_us)) / 2;
}

int64_t RoundTripUs(const CallTimes& times) {
  return (times.received_us - times.sent_us) - (times.answered_us - ArrivedUs(times));
}

Task<std::vector<Described>> DescribeAll(net::any_io_executor loop,
                                         std::vector<AgentEndpoint> endpoints,
                                         DescribeLimits limits, std::function<bool()> stopped) {
  std::vector<Described> results(endpoints.size(), absl::InternalError("a bug ended the call"));
  Asking asking(loop, endpoints.size());
  std::vector<Task<>> tasks;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    tasks.push_back(DescribeInto(results[i], loop, endpoints[i], limits, asking, i));
  }
  tasks.push_back(WatchStop(asking, std::move(stopped)));
  co_await AllOf(loop, std::move(tasks));
  co_return results;
}

std::vector<Described> DescribeAll(const std::vector<AgentEndpoint>& endpoints,
                                   DescribeLimits limits) {
  net::io_context loop(1);
  std::vector<Described> results(endpoints.size(), absl::InternalError("a bug ended the calls"));
  std::function<bool()> never = [] { return false; };
  net::co_spawn(loop, DescribeAll(loop.get_executor(), endpoints, limits, std::move(never)),
                [&results](const std::exception_ptr& e, std::vector<Described> described) {
                  if (!e) results = std::move(described);
                });
  loop.run();
  return results;
}

absl::Status CheckVersions(const std::vector<AgentEndpoint>& endpoints,
                           const std::vector<Described>& described, const std::string& mine) {
  std::string differing;
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < described.size(); ++i) {
    if (!described[i].ok() || described[i]->response.version() == mine) continue;
    if (++count > kMostNamed) continue;
    const std::string& theirs = described[i]->response.version();
    differing += fmt::format("{}agent {} runs fetchbench {}", count == 1 ? "" : ", ",
                             endpoints[i].shown(), theirs.empty() ? "of no version" : theirs);
    names += " " + endpoints[i].shown();
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMostNamed) differing += fmt::format(" and {} more", count - kMostNamed);
  return absl::InvalidArgumentError(
      fmt::format("{}, and this coordinator is {}: all of a fleet have to be of one version. "
                  "`bin/provision --upgrade{}{}` brings them to this one",
                  differing, mine, names, count > kMostNamed ? " ..." : ""));
}

}  // namespace fetchbench::coordinator
