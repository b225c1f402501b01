#include "coordinator/fleet/agent_credentials.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "common/credentials.h"
#include "common/loopback.h"

namespace fetchbench::coordinator {

absl::Status EquipAgents(const CredentialsFolders& folders, std::vector<AgentEndpoint>& agents) {
  std::shared_ptr<const Credentials> credentials;
  for (AgentEndpoint& agent : agents) {
    if (IsUnixSocket(agent.address)) continue;
    if (folders.named.empty() && StaysOnThisMachine(agent.address)) continue;
    const std::string& folder = folders.named.empty() ? folders.default_place : folders.named;
    std::error_code error;
    if (folders.named.empty() && !std::filesystem::exists(folder, error)) {
      return absl::FailedPreconditionError(fmt::format(
          "agent {} is not on this machine, and is spoken to with an operator's credentials only: "
          "`bin/pki init FLEET` makes them in {} for a new fleet; those of another place are named "
          "with --credentials DIR",
          agent.shown(), folder.empty() ? "~/.config/fetchbench/credentials" : folder));
    }
    if (!credentials) {
      auto loaded = Credentials::Load(folder, Role::kOperator);
      if (!loaded.ok()) return loaded.status();
      credentials = *std::move(loaded);
    }
    agent.credentials = credentials;
  }
  return absl::OkStatus();
}

std::string CertificateName(const AgentEndpoint& endpoint) {
  if (!endpoint.name.empty()) return endpoint.name;
  return HostOf(endpoint.address);
}

}  // namespace fetchbench::coordinator
