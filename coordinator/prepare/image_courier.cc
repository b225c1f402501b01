#include "coordinator/prepare/image_courier.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "common/docker/image_archive.h"
#include "common/grpc_client_stream.h"
#include "common/spawn.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/stop_look_up.h"
#include "coordinator/prepare/patient_read.h"
#include "coordinator/prepare/patient_write.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {
namespace {

using ExportStream = ClientStream<v1::ExportImageRequest, v1::ImagePiece>;

}  // namespace

std::string TransferText(const std::string& from, uint64_t bytes, uint64_t of_bytes) {
  constexpr uint64_t kMegabyte = 1'000'000;
  const auto round = [](uint64_t n) { return (n + kMegabyte / 2) / kMegabyte; };
  if (of_bytes == 0) return fmt::format("image from agent {}: {} MB", from, round(bytes));
  return fmt::format("image from agent {}: {} of {} MB", from, round(bytes),
                     round(std::max(bytes, of_bytes)));
}

Task<absl::StatusOr<std::shared_ptr<const ImageArchive>>> ImageCourier::Get(size_t receiver) {
  net::steady_timer pause(call_.loop);
  // It ends before this does, and so before the courier.
  if (!std::exchange(begun_, true)) Spawn(call_.loop, "image export", FetchFromAny());
  while (!done_) {
    call_.Tell(receiver, "waiting for the " + progress_);
    pause.expires_after(kStopLookUp);
    co_await pause.async_wait(kAsTuple);
  }
  if (archive_ == nullptr) co_return trouble_;
  co_return archive_;
}

Task<> ImageCourier::FetchFromAny() {
  std::string tried;
  trouble_ = absl::FailedPreconditionError("no agent has the image any more");
  while (const std::optional<size_t> holder = plan_.NextSource()) {
    auto archive = std::make_shared<ImageArchive>();
    absl::Status fetched = co_await Fetch(*holder, *archive);
    if (fetched.ok()) {
      archive_ = std::move(archive);
      break;
    }
    trouble_ = fetched;
    if (absl::IsCancelled(fetched) && call_.events.stopped()) break;
    tried += fmt::format("{}agent {}: {}", tried.empty() ? "" : "; ",
                         call_.endpoints[*holder].shown(), std::string(fetched.message()));
    trouble_ = absl::FailedPreconditionError(fmt::format(
        "the image of target {} was not handed out: {}", call_.plan.spec.name(), tried));
    spdlog::warn("agent {} did not hand the image of target {} out: {}",
                 call_.endpoints[*holder].shown(), call_.plan.spec.name(),
                 std::string(fetched.message()));
  }
  done_ = true;
}

Task<absl::Status> ImageCourier::Fetch(size_t holder, ImageArchive& archive) {
  archive.from = call_.endpoints[holder].shown();
  progress_ = TransferText(archive.from, 0, plan_.bytes());
  absl::StatusOr<AsyncFile> file = co_await AsyncFile::Make(call_.folder, "an image's archive");
  if (!file.ok()) co_return file.status();
  archive.file = *std::move(file);
  const auto stub = v1::Agent::NewStub(MakeAgentChannel(call_.endpoints[holder]));
  auto stream =
      ExportStream::Start(call_.loop, [&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->ExportImage(context, reactor);
      });
  v1::ExportImageRequest request;
  *request.mutable_target() = call_.plan.spec;
  request.set_image_id(plan_.id());
  const absl::Status asked =
      co_await PatientWrite(stream, std::move(request), call_.events.stopped);
  if (absl::IsCancelled(asked)) co_return asked;  // other failures are told by the next read
  stream.CloseWrites();
  while (true) {
    const auto piece = co_await PatientRead<v1::ImagePiece>(
        stream, call_.limits.silence, call_.events.stopped, "handing an image out");
    if (IsEndOfStream(piece.status())) break;
    if (!piece.ok()) co_return piece.status();
    if (piece->data().empty()) co_return absl::InternalError("the agent sent an empty piece");
    if (archive.file.size() + piece->data().size() > docker::kMaxImageBytes) {
      co_return absl::ResourceExhaustedError(
          fmt::format("its archive has more than {} GiB", docker::kMaxImageBytes >> 30));
    }
    const absl::Status kept = co_await archive.file.Append(piece->data());
    if (!kept.ok()) co_return kept;
    progress_ = TransferText(archive.from, archive.file.size(), plan_.bytes());
  }
  if (archive.file.size() == 0) co_return absl::InternalError("the agent sent nothing");
  co_return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
