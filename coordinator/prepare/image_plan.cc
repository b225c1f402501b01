#include "coordinator/prepare/image_plan.h"

#include <map>
#include <utility>

namespace fetchbench::coordinator {

ImagePlan::ImagePlan(std::vector<ImageSighting> agents, const std::string& wanted)
    : agents_(std::move(agents)) {
  std::map<std::string, size_t> count;
  for (const ImageSighting& s : agents_) {
    if (!s.image_id.empty()) ++count[s.image_id];
  }
  size_t most = 0;
  for (const ImageSighting& s : agents_) {
    const bool first = !wanted.empty() && s.image_id == wanted;
    if (s.image_id.empty() || (!first && count[s.image_id] <= most)) continue;
    most = count[s.image_id];
    id_ = s.image_id;
    bytes_ = s.bytes;
    if (first) break;
  }
  for (const ImageSighting& s : agents_) {
    if (!id_.empty() && s.image_id == id_) holders_.insert(s.agent);
  }
}

std::optional<size_t> ImagePlan::NextBuilder() {
  if (builders_tried_.size() >= kMostBuilders) return std::nullopt;
  for (const ImageSighting& s : agents_) {
    // One that could not hand its image out has it still: it would build nothing.
    if (sources_tried_.contains(s.agent) || !builders_tried_.insert(s.agent).second) continue;
    return s.agent;
  }
  return std::nullopt;
}

void ImagePlan::Built(size_t agent, std::string id) {
  id_ = std::move(id);
  holders_ = {agent};
}

std::optional<size_t> ImagePlan::NextSource() {
  if (sources_tried_.size() >= kMostSources) return std::nullopt;
  for (const size_t agent : holders_) {
    if (sources_tried_.insert(agent).second) return agent;
  }
  return std::nullopt;
}

void ImagePlan::Lost() {
  id_.clear();
  bytes_ = 0;
  holders_.clear();
}

}  // namespace fetchbench::coordinator
