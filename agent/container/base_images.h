#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/docker/engine_json.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// A Dockerfile with more stages is not one of a target.
inline constexpr size_t kMaxBaseImages = 16;

// What a FROM named, and the id that the builder took for it.
struct BaseSeen {
  std::string reference;
  std::string id;  // as the builder tells it: its first digits
};

// Reads out of the classic builder's output what each FROM stood for: it alone knows, since a
// reference may get another meaning at any time. FROM of an earlier stage and of `scratch` are left
// out.
class BaseImageReader {
 public:
  explicit BaseImageReader(docker::Labels build_args) : arguments_(std::move(build_args)) {}

  // The builder's output, line by line.
  void OnLine(std::string_view line);
  // One of each, in the order of the Dockerfile, kMaxBaseImages at most.
  const std::vector<BaseSeen>& seen() const { return seen_; }

 private:
  void OnStep(const std::string& instruction);
  std::string WithArguments(std::string text) const;

  docker::Labels arguments_;         // given, and below them the Dockerfile's own defaults
  std::vector<std::string> stages_;  // their names
  std::string from_;                 // of the step under way; empty: it is no FROM
  std::vector<BaseSeen> seen_;
};

// As labels of the image that was built, so that they go wherever it goes.
docker::Labels BaseImageLabels(const std::vector<v1::BaseImage>& bases);
// What such labels say. Pure.
std::vector<v1::BaseImage> BaseImagesOf(const docker::Labels& labels);

// Of an image in this Engine that `reference` named.
v1::BaseImage BaseImageOf(const std::string& reference, const docker::ImageInfo& image);

}  // namespace fetchbench::agent
