#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

using BuildArguments = std::map<std::string, std::string>;

// Where base images are named: FETCHBENCH_BASE_IMAGES, or build/base-images.json of the source
// tree (bin/base-images writes it).
std::string BaseImagesFile(const Environment& env);

// {"GO_IMAGE": "fetchbench-base/go:1.26", ...}. InvalidArgument names the member. Pure.
absl::StatusOr<BuildArguments> ParseBaseImages(std::string_view text);

// Empty when there is no such file and `must_exist` is false.
absl::StatusOr<BuildArguments> ReadBaseImages(const std::string& path, bool must_exist);

// Names of the ARG lines of a Dockerfile, in their order. Pure.
std::vector<std::string> DeclaredArguments(std::string_view dockerfile);

// Names of the base images that a Dockerfile takes from a registry unless it is told otherwise: its
// ARG lines NAME_IMAGE=REFERENCE, but for `scratch`, which is no image. Pure.
std::vector<std::string> RegistryImages(std::string_view dockerfile);

// NotFound names the images that `base_images`, of the file `file`, lacks, and says how to name
// them. A host that has such a file reaches no registry, and waiting for one would be all that
// comes of trying. Pure.
absl::Status CheckBaseImages(const std::vector<std::string>& registry_images,
                             const BuildArguments& base_images, const BuildArguments& chosen,
                             const std::string& file);

// What the build gets: of the base images those that are declared, then what was given.
// InvalidArgument: one was given that the Dockerfile does not declare. Pure.
absl::StatusOr<BuildArguments> ChooseArguments(const std::vector<std::string>& declared,
                                               const BuildArguments& base_images,
                                               const BuildArguments& given);

}  // namespace fetchbench::coordinator
