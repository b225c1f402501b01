#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fetchbench::coordinator {

// What an agent said of its image of a target.
struct ImageSighting {
  size_t agent = 0;
  std::string architecture;
  std::string image_id;  // empty: it has none
  uint64_t bytes = 0;
};

// Which image the agents of one architecture run, who builds it, and who hands it to the others.
// One that is there already is the fleet's: `wanted` (an id; empty: none is), else the one that
// most have, among equals that of the first agent. Pure.
class ImagePlan {
 public:
  // A build that fails on so many agents would fail on the others.
  static constexpr size_t kMostBuilders = 3;
  // So many agents are asked to hand an image out before it is given up.
  static constexpr size_t kMostSources = 3;

  explicit ImagePlan(std::vector<ImageSighting> agents, const std::string& wanted = "");

  const std::vector<ImageSighting>& agents() const { return agents_; }
  // Of the fleet's image; empty: it has to be built.
  const std::string& id() const { return id_; }
  // As an Engine told; 0: not known.
  uint64_t bytes() const { return bytes_; }
  // Whether the agent had another one, or none, when it was asked.
  bool Lacks(size_t agent) const { return !holders_.contains(agent); }

  // Whom to have it built by; each agent at most once. Empty: nobody is left, or too many failed.
  std::optional<size_t> NextBuilder();
  void Built(size_t agent, std::string id);
  // Whom to ask for it; each agent at most once. Empty: nobody is left, or too many failed.
  std::optional<size_t> NextSource();
  // Nobody hands it out: it has to be built anew, by somebody else.
  void Lost();

 private:
  std::vector<ImageSighting> agents_;
  std::string id_;
  uint64_t bytes_ = 0;
  std::set<size_t> holders_;
  std::set<size_t> builders_tried_;
  std::set<size_t> sources_tried_;
};

}  // namespace fetchbench::coordinator
