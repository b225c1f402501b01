#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/fleet/agent_endpoint.h"

namespace fetchbench::coordinator {

// Where an operator's credentials are.
struct CredentialsFolders {
  std::string named;          // by --credentials; empty: not
  std::string default_place;  // where they are looked for when none was named
};

// Gives agents the credentials that they are spoken to with: those named to all that are dialled by
// TCP; else the default ones to all that are not on this machine; none to Unix sockets. Reads
// files. FailedPrecondition: they are wrong or missing, and what to do.
absl::Status EquipAgents(const CredentialsFolders& folders, std::vector<AgentEndpoint>& agents);

// What the agent's certificate must name: its name, or without one the host that is dialled. Pure.
std::string CertificateName(const AgentEndpoint& endpoint);

}  // namespace fetchbench::coordinator
