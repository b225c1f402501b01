#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/docker/context_check.h"

namespace fetchbench::docker {

// Of the archive of one image, wherever it is kept.
inline constexpr uint64_t kMaxImageBytes = uint64_t{4} << 30;

// Looks through the archive of an image (`docker save ID`) as it comes: plain files, folders and
// links inside of it, of one image, without a name. Loading a name would take it from whatever has
// it now, and a later build might start from that. Holds paths and lists, not layers. Pure.
class ImageArchiveCheck {
 public:
  ImageArchiveCheck();

  // InvalidArgument: what is wrong. ResourceExhausted: too many entries.
  absl::Status Feed(std::string_view bytes) { return check_.Feed(bytes); }
  // At the archive's end. InvalidArgument: it was cut short, has no list of images, or more than
  // one image, or a name.
  absl::Status End() const;

 private:
  ContextCheck check_;
};

}  // namespace fetchbench::docker
