#include "coordinator/fleet/same_agent.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace fetchbench::coordinator {
namespace {

constexpr size_t kMostNamed = 8;  // agents in one message

// Two names say nothing to who looks for the address that is wrong.
std::string WithAddress(const AgentEndpoint& endpoint) {
  if (endpoint.name.empty()) return endpoint.address;
  return fmt::format("{} at {}", endpoint.name, endpoint.address);
}

}  // namespace

std::vector<std::optional<size_t>> FindSameAgents(const std::vector<Described>& described) {
  std::vector<std::optional<size_t>> same(described.size());
  std::map<std::string_view, size_t> first;
  for (size_t i = 0; i < described.size(); ++i) {
    if (!described[i].ok() || described[i]->response.instance_id().empty()) continue;
    const auto [it, is_new] = first.try_emplace(described[i]->response.instance_id(), i);
    if (!is_new) same[i] = it->second;
  }
  return same;
}

absl::Status CheckDistinct(const std::vector<AgentEndpoint>& endpoints,
                           const std::vector<Described>& described) {
  const std::vector<std::optional<size_t>> same = FindSameAgents(described);
  std::string twice;
  size_t count = 0;
  for (size_t i = 0; i < same.size(); ++i) {
    if (!same[i] || ++count > kMostNamed) continue;
    twice += fmt::format("{}agent {} is named twice: {} is the same one", count == 1 ? "" : "; ",
                         WithAddress(endpoints[*same[i]]), WithAddress(endpoints[i]));
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMostNamed) twice += fmt::format("; and {} more", count - kMostNamed);
  return absl::InvalidArgumentError(twice);
}

std::string SameAgentText(const AgentEndpoint& first) {
  return "is the same agent as " + first.shown();
}

}  // namespace fetchbench::coordinator
