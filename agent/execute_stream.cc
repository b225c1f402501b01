#include "agent/execute_stream.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/dispatch.h"
#include "common/log.h"
#include "common/spawn.h"
#include "common/wakeup.h"

namespace fetchbench::agent {
namespace {

// One attached stream: a reading and a writing coroutine share it.
class Session final : public RunListener {
 public:
  Session(ExecuteStream s, std::shared_ptr<ActiveRun> r, const net::any_io_executor& loop)
      : stream(std::move(s)), run(std::move(r)), news(loop) {}

  void OnNews() override { news.Notify(); }
  void OnDisplaced(absl::Status status) override {
    over = true;
    stream.FinishSoon(std::move(status));
    news.Notify();
  }

  ExecuteStream stream;
  const std::shared_ptr<ActiveRun> run;
  Wakeup news;
  bool over = false;  // the run is no longer ours
};

Task<> WriteAll(std::shared_ptr<Session> session, RunKeeper& keeper) {
  while (!session->over) {
    std::optional<v1::AgentMessage> message = session->run->Next();
    if (!message) {
      co_await session->news.WaitUntil();
      continue;
    }
    const bool last = message->has_finished() || message->has_failed();
    if (last) keeper.Conclude(session->run, *message);
    const absl::Status written = co_await session->stream.Write(std::move(*message));
    if (!written.ok()) break;  // the reader hears of the end too, and detaches
    if (last) {
      const absl::Status delivered = co_await session->stream.Finish(absl::OkStatus());
      if (delivered.ok()) keeper.Delivered(session->run->id());
      break;
    }
  }
}

Task<> ReadAll(std::shared_ptr<Session> session) {
  while (!session->over) {
    absl::StatusOr<v1::CoordinatorMessage> message = co_await session->stream.Read();
    if (!message.ok()) {
      if (IsEndOfStream(message.status())) {
        session->stream.FinishSoon(absl::InvalidArgumentError(
            "the coordinator half-closed the stream; acknowledgements are needed until Finished"));
      }
      break;
    }
    if (!session->over) Dispatch(session->run->executor(), *message);
  }
}

// What the first message of a stream must be, or what to answer.
absl::StatusOr<v1::Start> TakeStart(absl::StatusOr<v1::CoordinatorMessage> first) {
  if (absl::IsDeadlineExceeded(first.status())) {
    return absl::DeadlineExceededError("no Start came on this stream");
  }
  if (!first.ok() && !IsEndOfStream(first.status())) return first.status();
  if (!first.ok() || !first->has_start()) {
    return absl::InvalidArgumentError("the first message of an Execute stream must be Start");
  }
  return std::move(*first->mutable_start());
}

// A stream that breaks here is no trouble: the last word is kept for the next one.
// `resumed`: the run was under way, which Started says before it.
Task<> SendRemains(ExecuteStream stream, RunKeeper& keeper, std::string run_id, bool resumed,
                   v1::AgentMessage final) {
  absl::Status sent;
  if (resumed) {
    v1::AgentMessage started;
    started.mutable_started()->set_resumed(true);
    sent = co_await stream.Write(std::move(started));
  }
  if (sent.ok()) sent = co_await stream.Write(std::move(final));
  if (sent.ok()) sent = co_await stream.Finish(absl::OkStatus());
  if (sent.ok()) keeper.Delivered(run_id);
}

// Ends a stream that gets no run. A coordinator that has left by now need not hear why.
Task<> Refuse(ExecuteStream stream, RunKeeper& keeper, absl::Status why) {
  ++keeper.counts().streams_refused;
  const std::string reason(why.message());
  LogEvent(spdlog::level::info, "stream_refused", {{"why", reason}},
           fmt::format("a stream is refused: {}", reason));
  [[maybe_unused]] const absl::Status heard = co_await stream.Finish(std::move(why));
}

}  // namespace

Task<> ServeExecute(ExecuteStream stream, RunKeeper& keeper, net::any_io_executor loop) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + keeper.config().start_patience;
  absl::StatusOr<v1::CoordinatorMessage> first = co_await stream.Read(deadline);
  absl::StatusOr<v1::Start> start = TakeStart(std::move(first));
  if (!start.ok()) {
    co_await Refuse(std::move(stream), keeper, start.status());
    co_return;
  }
  const std::string run_id = start->run_id();
  const uint64_t last_committed_seq = start->last_committed_seq();
  absl::StatusOr<RunKeeper::Opened> opened = co_await keeper.Open(std::move(*start));
  if (!opened.ok()) {
    co_await Refuse(std::move(stream), keeper, opened.status());
    co_return;
  }
  if (opened->final) {
    co_await SendRemains(std::move(stream), keeper, run_id, opened->resumed,
                         std::move(*opened->final));
    co_return;
  }
  auto session = std::make_shared<Session>(std::move(stream), opened->run, loop);
  opened->run->Attach(session, last_committed_seq, opened->resumed, keeper.memory().last());
  Spawn(loop, "execute writer", WriteAll(session, keeper));
  co_await ReadAll(session);
  session->over = true;
  session->news.Notify();
  session->run->Detach(session.get());
  keeper.Left(session->run);
}

}  // namespace fetchbench::agent
