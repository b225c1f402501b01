#include "common/docker/old_images.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace fetchbench::docker {

std::vector<std::string> SupersededImages(const std::vector<ImageSummary>& images,
                                          const std::string& current, std::chrono::seconds now) {
  std::vector<std::pair<int64_t, std::string>> others;  // when it was made, reference
  for (const ImageSummary& image : images) {
    for (const std::string& tag : image.tags) {
      if (tag != current) others.emplace_back(image.created_s, tag);
    }
  }
  std::sort(others.begin(), others.end());
  others.resize(others.size() - std::min(others.size(), kKeptImages - 1));
  std::vector<std::string> superseded;
  for (auto& [created_s, reference] : others) {
    if (now - std::chrono::seconds(created_s) < kKeptImageAge) break;
    if (superseded.size() < kRemovedAtOnce) superseded.push_back(std::move(reference));
  }
  return superseded;
}

std::chrono::seconds WallNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::microseconds(SystemClock().WallUs()));
}

Task<> RemoveSupersededImages(EngineClient client, std::string repository, std::string current,
                              std::chrono::seconds now) {
  const auto images = co_await client.ListImages(repository);
  if (!images.ok()) {
    spdlog::warn("{}", std::string(images.status().message()));
    co_return;
  }
  for (const std::string& reference : SupersededImages(*images, current, now)) {
    // The list of images does not tell it.
    const absl::StatusOr<ImageInfo> image = co_await client.InspectImage(reference);
    if (image.ok() && now - std::chrono::seconds(image->tagged_s) < kKeptImageAge) continue;
    const absl::Status removed = co_await client.RemoveImage(reference);
    if (removed.ok()) {
      spdlog::info("removed the superseded image {}", reference);
    } else if (!absl::IsFailedPrecondition(removed) && !absl::IsNotFound(removed)) {
      spdlog::warn("{}", std::string(removed.message()));  // not one that is used, or gone already
    }
  }
}

}  // namespace fetchbench::docker
