#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/docker/engine_json.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Whether `image`, which is the target's on this host, is the one that the run's agents of this
// `architecture` have. FailedPrecondition: it is another one; says which is there, which was
// wanted, and what to do. Pure.
absl::Status CheckWantedImage(const v1::Start& start, const docker::ImageInfo& image,
                              const std::string& architecture);

}  // namespace fetchbench::agent
