#include "common/docker/leftovers.h"

#include <utility>

#include "common/docker/owner.h"

namespace fetchbench::docker {
namespace {

bool IsLeftover(const Labels& labels) {
  const auto it = labels.find(std::string(kOwnerLabel));
  return it != labels.end() && StateOf(it->second) == OwnerState::kGone;
}

void Note(RemovedLeftovers& result, std::vector<std::string>& list, const std::string& name,
          absl::Status status) {
  if (status.ok()) {
    list.push_back(name);
  } else {
    result.errors.push_back(std::move(status));
  }
}

}  // namespace

Task<absl::StatusOr<RemovedLeftovers>> RemoveLeftovers(EngineClient client) {
  const std::vector<std::string> filter = {std::string(kOwnerLabel)};
  RemovedLeftovers result;
  auto containers = co_await client.ListContainers(filter);
  if (!containers.ok()) co_return containers.status();
  for (const ContainerSummary& container : *containers) {
    if (!IsLeftover(container.labels)) continue;
    absl::Status removed = co_await client.RemoveContainer(container.id);
    Note(result, result.containers, container.name, std::move(removed));
  }
  auto networks = co_await client.ListNetworks(filter);
  if (!networks.ok()) co_return networks.status();
  for (const NetworkInfo& network : *networks) {
    if (!IsLeftover(network.labels)) continue;
    absl::Status removed = co_await client.RemoveNetwork(network.id);
    Note(result, result.networks, network.name, std::move(removed));
  }
  co_return result;
}

}  // namespace fetchbench::docker
