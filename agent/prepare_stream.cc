#include "agent/prepare_stream.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "agent/container/context_file.h"
#include "agent/container/image_key.h"
#include "agent/engine_work.h"
#include "agent/ship_image.h"
#include "common/log.h"
#include "common/spawn.h"
#include "common/utf8.h"

namespace fetchbench::agent {
namespace {

using std::chrono::steady_clock;

using Piece = absl::StatusOr<v1::PrepareRequest>;

Task<> RunBuild(std::shared_ptr<EngineWork> work, ImageStore& images, v1::TargetSpec target,
                docker::BodySource context) {
  docker::EngineClient::TextSink progress = [work](std::string_view line) { work->OnLine(line); };
  absl::Status built = co_await images.Build(std::move(target), std::move(context), work->client,
                                             std::move(progress));
  work->End(std::move(built));
}

Task<absl::StatusOr<docker::BodySource>> ReceiveContext(PrepareStream& stream, uint64_t bytes,
                                                        std::string sha256) {
  absl::StatusOr<ContextFile> file = ContextFile::Open(bytes);
  if (!file.ok()) co_return file.status();
  while (true) {
    Piece piece = co_await NextPiece(stream, kMessageLimit, "the target's folder");
    if (absl::IsOutOfRange(piece.status())) break;
    if (!piece.ok()) co_return piece.status();
    if (!piece->has_context()) {
      co_return absl::InvalidArgumentError("Prepare: a piece of the target's folder was expected");
    }
    if (absl::Status s = file->Append(piece->context()); !s.ok()) co_return s;
  }
  co_return file->Close(sha256);
}

void CountBuild(AgentCounts& counts, const std::string& target, const absl::Status& built,
                SteadyTime::duration took) {
  --counts.builds_active;
  ++(built.ok() ? counts.builds_done : counts.builds_failed);
  counts.build_time += std::chrono::duration_cast<std::chrono::microseconds>(took);
  const double seconds = std::chrono::duration<double>(took).count();
  const std::string why(built.message());
  LogEvent(built.ok() ? spdlog::level::info : spdlog::level::err, "build_ended",
           {{"target", target}, {"ok", built.ok()}, {"seconds", seconds}, {"why", why}},
           built.ok() ? fmt::format("built the image of target {} in {:.1f} s", target, seconds)
                      : fmt::format("the image of target {} was not built: {}", target, why));
}

// Asks for the target's folder and builds its image.
Task<absl::Status> BuildTarget(PrepareStream& stream, RunKeeper& keeper, net::any_io_executor loop,
                               v1::PrepareStart start) {
  if (absl::Status s = keeper.CheckIdle(); !s.ok()) co_return s;
  v1::PrepareProgress wanted =
      PrepareWords(fmt::format("building target {}", start.target().name()));
  wanted.set_send_context(true);
  if (absl::Status s = co_await stream.Write(std::move(wanted)); !s.ok()) co_return s;
  absl::StatusOr<docker::BodySource> context =
      co_await ReceiveContext(stream, start.context_bytes(), start.target().context_sha256());
  if (!context.ok()) co_return context.status();
  ImageStore& images = keeper.containers().images();
  AgentCounts& counts = keeper.counts();
  const SteadyTime begin = steady_clock::now();
  ++counts.builds_active;
  const std::string target = start.target().name();
  LogEvent(spdlog::level::info, "build_started", {{"target", target}},
           fmt::format("building the image of target {}", target));
  auto work = std::make_shared<EngineWork>(loop, images.MakeBuilder(), "(still building)");
  Spawn(loop, "image build",
        RunBuild(work, images, std::move(*start.mutable_target()), *std::move(context)));
  absl::Status built = co_await FollowWork(stream, work);
  CountBuild(counts, target, built, steady_clock::now() - begin);
  co_return built;
}

// Makes sure that the image of a container target is there.
Task<absl::Status> PrepareImage(PrepareStream& stream, RunKeeper& keeper, net::any_io_executor loop,
                                v1::PrepareStart start) {
  ImageStore& images = keeper.containers().images();
  absl::StatusOr<docker::ImageInfo> image = co_await images.Find(start.target());
  if (!absl::IsNotFound(image.status())) co_return image.status();
  if (!start.target().image().empty()) co_return image.status();
  absl::StatusOr<ImageKey> key = KeyOf(start.target());
  if (!key.ok()) co_return key.status();
  std::string reference = key->Reference();
  std::function<bool()> stopping = keeper.Stopping();
  absl::Status held = co_await images.Hold(reference, stopping);
  if (!held.ok()) co_return held;
  // The one before may have built it.
  image = co_await images.Find(start.target());
  absl::Status status = image.status();
  if (absl::IsNotFound(status)) {
    status = co_await BuildTarget(stream, keeper, loop, std::move(start));
  }
  images.Release(reference);
  co_return status;
}

// What this call answers in the end; the progress before it is written here.
Task<absl::StatusOr<v1::PrepareProgress>> Prepare(PrepareStream& stream, RunKeeper& keeper,
                                                  net::any_io_executor loop) {
  absl::StatusOr<v1::PrepareRequest> request =
      co_await stream.Read(steady_clock::now() + kMessageLimit);
  if (!request.ok()) co_return request.status();
  if (!request->has_start()) {
    co_return absl::InvalidArgumentError("the first message of Prepare must be its start");
  }
  v1::PrepareStart start = std::move(*request->mutable_start());
  v1::TargetSpec target = start.target();
  // Before anything of it is taken, packed out or built.
  if (absl::Status s = keeper.CheckTarget(target); !s.ok()) co_return s;
  if (start.look()) {
    co_return co_await LookForImage(keeper, std::move(target), start.image_id());
  }
  if (!start.image_id().empty()) {
    absl::Status there = co_await TakeImage(stream, keeper, loop, std::move(start));
    if (!there.ok()) co_return there;
  } else if (IsContainer(target)) {
    absl::Status ready = co_await PrepareImage(stream, keeper, loop, std::move(start));
    if (!ready.ok()) co_return ready;
  }
  v1::PrepareProgress asking = PrepareWords("asking target " + target.name() + " what it is");
  if (absl::Status s = co_await stream.Write(std::move(asking)); !s.ok()) co_return s;
  absl::StatusOr<v1::TargetFacts> facts = co_await keeper.Facts(std::move(target));
  if (!facts.ok()) co_return facts.status();
  v1::PrepareProgress ready = PrepareWords("target " + facts->name() + " is ready");
  ready.set_ready(true);
  *ready.mutable_facts() = *std::move(facts);
  co_return ready;
}

}  // namespace

Task<> ServePrepare(PrepareStream stream, RunKeeper& keeper, net::any_io_executor loop) {
  absl::StatusOr<v1::PrepareProgress> last = co_await Prepare(stream, keeper, loop);
  absl::Status status = last.status();
  if (status.ok()) status = co_await stream.Write(*std::move(last));
  if (!status.ok()) {
    // A build's output may be any bytes, and a status travels as UTF-8.
    status = absl::Status(status.code(), ValidUtf8(std::string(status.message())));
  }
  // A coordinator that has left by now need not hear it.
  [[maybe_unused]] const absl::Status heard = co_await stream.Finish(std::move(status));
}

}  // namespace fetchbench::agent
