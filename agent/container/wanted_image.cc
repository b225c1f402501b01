#include "agent/container/wanted_image.h"

#include <fmt/format.h>

namespace fetchbench::agent {

absl::Status CheckWantedImage(const v1::Start& start, const docker::ImageInfo& image,
                              const std::string& architecture) {
  if (start.image_ids().empty()) return absl::OkStatus();
  const v1::TargetSpec& target = start.target();
  const auto wanted = start.image_ids().find(architecture);
  if (wanted == start.image_ids().end()) {
    return absl::FailedPreconditionError(fmt::format(
        "target {}: its image here is {}, and the run knows of none for {}: no agent of this "
        "architecture was there when images were made ready; call Prepare first",
        target.name(), image.id, architecture));
  }
  if (wanted->second == image.id) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "target {}: its image here is {}, the run's other agents have {}: it was replaced after it "
      "was made ready; {}",
      target.name(), image.id, wanted->second,
      target.image().empty()
          ? std::string("call Prepare with that id")
          : fmt::format("bring theirs to this host with bin/provision --image {}",
                        target.image())));
}

}  // namespace fetchbench::agent
