#include "coordinator/run/fleet_images.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/steady_timer.hpp>
#include <utility>
#include <vector>

#include "coordinator/fleet/stop_look_up.h"
#include "coordinator/run/run_log.h"

namespace fetchbench::coordinator {
namespace {

// For an agent that answered a moment ago.
constexpr std::chrono::milliseconds kConnect{1'000};

}  // namespace

FleetImages::FleetImages(FleetCall call, std::map<std::string, FleetImage> images)
    : call_(std::move(call)), images_(std::move(images)) {
  call_.limits.connect = kConnect;
  call_.events.stopped = [this, stopped = call_.events.stopped] { return closed_ || stopped(); };
}

std::map<std::string, std::string> FleetImages::Ids() const {
  std::map<std::string, std::string> ids;
  for (const auto& [architecture, image] : images_) ids[architecture] = image.id;
  return ids;
}

void FleetImages::Close() {
  closed_ = true;
  for (auto& [architecture, image] : images_) image.archive.reset();
}

Task<absl::Status> FleetImages::MakeReadyAgain(size_t agent, absl::Status refused) {
  // An image that was named, or none at all: there is nothing to send.
  if (call_.plan.context == nullptr || images_.empty()) co_return refused;
  absl::StatusOr<ImageSighting> seen = co_await LookForImage(call_, agent);
  if (!seen.ok()) co_return absl::IsUnavailable(seen.status()) ? seen.status() : refused;
  const std::string architecture = seen->architecture;
  const auto known = images_.find(architecture);
  if (known != images_.end() && known->second.id == seen->image_id) {
    // Another agent of its Engine may have seen to it a moment ago; else it refused something else.
    co_return had_it_.insert(agent).second ? absl::OkStatus() : refused;
  }
  had_it_.erase(agent);
  LogMadeReadyAgain(call_.endpoints[agent].shown(), refused);
  net::steady_timer pause(call_.loop);
  while (!busy_.insert(architecture).second) {
    if (call_.events.stopped()) co_return absl::CancelledError("the run is over");
    pause.expires_after(kStopLookUp);
    co_await pause.async_wait(kAsTuple);
  }
  const absl::Status brought = co_await Bring(*std::move(seen));
  busy_.erase(architecture);
  if (brought.ok() || absl::IsUnavailable(brought)) co_return brought;
  co_return absl::Status(
      refused.code(), fmt::format("{}; making it ready again failed: {}",
                                  std::string(refused.message()), std::string(brought.message())));
}

Task<absl::Status> FleetImages::Bring(ImageSighting seen) {
  const size_t agent = seen.agent;
  const std::string architecture = seen.architecture;
  const auto known = images_.find(architecture);
  absl::StatusOr<v1::PrepareProgress> last = absl::InternalError("nothing was asked");
  if (known != images_.end()) {
    // Whatever it had, it has it no more.
    std::erase_if(known->second.holders, [agent](const auto& s) { return s.agent == agent; });
    last = co_await Send(agent, known->second);
  } else {
    // The first of its architecture: what it has is what others of it will get. An image of an
    // earlier session may have lost its name.
    PrepareWish wish;
    const auto earlier = call_.earlier_ids.find(architecture);
    if (earlier != call_.earlier_ids.end() && earlier->second == seen.image_id) {
      wish.image_id = seen.image_id;
    } else if (earlier != call_.earlier_ids.end()) {
      spdlog::warn("the image for {} was {} in an earlier session, and agent {} has it no more",
                   architecture, earlier->second, call_.endpoints[agent].shown());
    }
    last = co_await PrepareAgent(call_, agent, std::move(wish));
  }
  if (!last.ok()) co_return last.status();
  const std::string& has = last->facts().image_digest();
  if (known != images_.end() && known->second.id != has) {
    co_return absl::FailedPreconditionError(
        fmt::format("it was sent image {} and has {}", known->second.id, has));
  }
  FleetImage& image = images_[architecture];
  image.id = has;
  image.holders.push_back({agent, architecture, image.id, 0});
  co_return absl::OkStatus();
}

Task<absl::StatusOr<v1::PrepareProgress>> FleetImages::Send(size_t agent, FleetImage& image) {
  ImagePlan plan(image.holders, image.id);
  ImageCourier courier(call_, plan, image.archive);
  PrepareWish wish;
  wish.image_id = image.id;
  wish.courier = &courier;
  absl::StatusOr<v1::PrepareProgress> last = co_await PrepareAgent(call_, agent, std::move(wish));
  if (!closed_) image.archive = courier.archive();
  co_return last;
}

}  // namespace fetchbench::coordinator
