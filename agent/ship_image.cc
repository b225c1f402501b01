#include "agent/ship_image.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "agent/container/image_key.h"
#include "agent/engine_work.h"
#include "common/async_file.h"
#include "common/docker/image_archive.h"
#include "common/files.h"
#include "common/log.h"
#include "common/spawn.h"
#include "common/utf8.h"

namespace fetchbench::agent {
namespace {

using std::chrono::steady_clock;

// For the first piece: another agent has to hand the whole image out before.
constexpr std::chrono::minutes kFirstPieceLimit{35};
constexpr size_t kIdBytes = 71;  // "sha256:" and 64 digits

absl::Status CheckId(const std::string& id) {
  constexpr std::string_view kPrefix = "sha256:";
  const bool good = id.size() == kIdBytes && id.starts_with(kPrefix) &&
                    id.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string::npos;
  return good ? absl::OkStatus()
              : absl::InvalidArgumentError("image_id must be sha256: and 64 lower-case hex digits");
}

// An image that is made of a folder, by its id: the only kind that travels.
absl::StatusOr<ImageKey> CheckShipped(const RunKeeper& keeper, const v1::TargetSpec& target,
                                      const std::string& id) {
  if (absl::Status s = keeper.CheckTarget(target); !s.ok()) return s;
  if (!IsContainer(target) || !target.image().empty()) {
    return absl::InvalidArgumentError("only images that were built of a folder are shipped");
  }
  if (absl::Status s = CheckId(id); !s.ok()) return s;
  return KeyOf(target);
}

// Gathers an image's archive in a file, and looks through it as it comes.
Task<absl::StatusOr<AsyncFile>> ReceiveImage(PrepareStream& stream) {
  absl::StatusOr<AsyncFile> file =
      co_await AsyncFile::Make(TemporaryFolder(), "an image's archive");
  if (!file.ok()) co_return file.status();
  docker::ImageArchiveCheck check;
  std::chrono::seconds patience = kFirstPieceLimit;
  while (true) {
    absl::StatusOr<v1::PrepareRequest> piece =
        co_await NextPiece(stream, patience, "the image's archive");
    if (absl::IsOutOfRange(piece.status())) break;
    if (!piece.ok()) co_return piece.status();
    // Empty ones, one after the other, would hold a call open for ever.
    if (piece->image().empty()) {
      co_return absl::InvalidArgumentError("Prepare: a piece of an image's archive was expected");
    }
    if (file->size() + piece->image().size() > docker::kMaxImageBytes) {
      co_return absl::ResourceExhaustedError(fmt::format(
          "an image's archive of more than {} GiB is not taken", docker::kMaxImageBytes >> 30));
    }
    if (absl::Status s = check.Feed(piece->image()); !s.ok()) co_return s;
    const absl::Status kept = co_await file->Append(piece->image());
    if (!kept.ok()) co_return kept;
    patience = kMessageLimit;
  }
  if (absl::Status s = check.End(); !s.ok()) co_return s;
  co_return std::move(file);
}

Task<> RunLoad(std::shared_ptr<EngineWork> work, ImageStore& images, v1::TargetSpec target,
               std::string id, docker::BodySource archive) {
  absl::Status loaded =
      co_await images.Load(std::move(target), std::move(id), std::move(archive), work->client);
  work->End(std::move(loaded));
}

// Asks for the archive and loads it.
Task<absl::Status> ReceiveAndLoad(PrepareStream& stream, RunKeeper& keeper,
                                  net::any_io_executor loop, v1::PrepareStart start) {
  if (absl::Status s = keeper.CheckIdle(); !s.ok()) co_return s;
  const std::string name = start.target().name();
  v1::PrepareProgress wanted = PrepareWords("waiting for the image of target " + name);
  wanted.set_send_image(true);
  if (absl::Status s = co_await stream.Write(std::move(wanted)); !s.ok()) co_return s;
  absl::StatusOr<AsyncFile> file = co_await ReceiveImage(stream);
  if (!file.ok()) co_return file.status();
  absl::StatusOr<docker::BodySource> archive = docker::BodyFromFile(file->fd());
  if (!archive.ok()) co_return archive.status();
  auto work = std::make_shared<EngineWork>(loop, keeper.containers().images().MakeBuilder(),
                                           "loading the image of target " + name);
  Spawn(loop, "image load",
        RunLoad(work, keeper.containers().images(), std::move(*start.mutable_target()),
                start.image_id(), *std::move(archive)));
  absl::Status loaded = co_await FollowWork(stream, work);
  const std::string why(loaded.message());
  LogEvent(loaded.ok() ? spdlog::level::info : spdlog::level::err, "image_loaded",
           {{"target", name}, {"ok", loaded.ok()}, {"bytes", file->size()}, {"why", why}},
           loaded.ok() ? fmt::format("loaded the image of target {}", name)
                       : fmt::format("the image of target {} was not loaded: {}", name, why));
  co_return loaded;
}

// Answers one request; the pieces are written here.
Task<absl::Status> Export(ExportStream& stream, RunKeeper& keeper) {
  absl::StatusOr<v1::ExportImageRequest> request =
      co_await stream.Read(steady_clock::now() + kMessageLimit);
  if (!request.ok()) co_return request.status();
  absl::StatusOr<ImageKey> key = CheckShipped(keeper, request->target(), request->image_id());
  if (!key.ok()) co_return key.status();
  if (absl::Status s = keeper.CheckIdle(); !s.ok()) co_return s;
  ImageStore& images = keeper.containers().images();
  absl::StatusOr<docker::ImageInfo> image =
      co_await images.FindExactly(request->target(), request->image_id());
  if (!image.ok()) co_return image.status();
  docker::EngineClient client = images.MakeBuilder();
  // By its id: so it comes without a name.
  absl::StatusOr<docker::EngineBody> body = co_await client.ExportImage(image->id);
  if (!body.ok()) co_return body.status();
  while (true) {
    absl::StatusOr<std::string> bytes = co_await body->Read();
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) co_return absl::OkStatus();
    v1::ImagePiece piece;
    piece.set_data(*std::move(bytes));
    if (absl::Status s = co_await stream.Write(std::move(piece)); !s.ok()) co_return s;
  }
}

}  // namespace

Task<absl::StatusOr<v1::PrepareProgress>> LookForImage(RunKeeper& keeper, v1::TargetSpec target,
                                                       std::string id) {
  if (!IsContainer(target)) {
    co_return absl::InvalidArgumentError("Prepare: only a container target has an image");
  }
  v1::PrepareProgress progress = PrepareWords("looked for the image of " + target.name());
  v1::ImageFound& found = *progress.mutable_found();
  found.set_architecture(keeper.config().host.architecture());
  ImageStore& images = keeper.containers().images();
  absl::StatusOr<docker::ImageInfo> image = absl::NotFoundError("no id was named");
  if (!id.empty()) {
    absl::StatusOr<ImageKey> shipped = CheckShipped(keeper, target, id);
    if (!shipped.ok()) co_return shipped.status();
    image = co_await images.FindExactly(target, std::move(id));
  }
  const bool other = absl::IsNotFound(image.status()) || absl::IsFailedPrecondition(image.status());
  if (other) image = co_await images.Find(std::move(target));
  if (absl::IsNotFound(image.status())) co_return progress;
  if (!image.ok()) co_return image.status();
  found.set_image_id(image->id);
  found.set_image_bytes(image->bytes);
  co_return progress;
}

Task<absl::Status> TakeImage(PrepareStream& stream, RunKeeper& keeper, net::any_io_executor loop,
                             v1::PrepareStart start) {
  absl::StatusOr<ImageKey> key = CheckShipped(keeper, start.target(), start.image_id());
  if (!key.ok()) co_return key.status();
  ImageStore& images = keeper.containers().images();
  std::string reference = key->Reference();
  std::function<bool()> stopping = keeper.Stopping();
  absl::Status status = co_await images.Hold(reference, std::move(stopping));
  if (!status.ok()) co_return status;
  // Another agent may have loaded it into the same Engine by now.
  status = co_await images.Adopt(start.target(), start.image_id());
  if (absl::IsNotFound(status)) {
    status = co_await ReceiveAndLoad(stream, keeper, loop, std::move(start));
  }
  images.Release(reference);
  co_return status;
}

Task<> ServeExport(ExportStream stream, RunKeeper& keeper) {
  absl::Status status = co_await Export(stream, keeper);
  status = absl::Status(status.code(), ValidUtf8(std::string(status.message())));
  // A coordinator that has left by now need not hear it.
  [[maybe_unused]] const absl::Status heard = co_await stream.Finish(std::move(status));
}

}  // namespace fetchbench::agent
