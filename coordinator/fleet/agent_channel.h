#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "coordinator/fleet/agent_endpoint.h"

namespace fetchbench::coordinator {

// A channel to an agent that tries again soon after a failure. With credentials by mutual TLS, to
// the host that its certificate must name (EquipAgents); without them in plaintext, and then only
// to an agent on this machine: another one cannot be reached so.
std::shared_ptr<grpc::Channel> MakeAgentChannel(const AgentEndpoint& endpoint);

}  // namespace fetchbench::coordinator
