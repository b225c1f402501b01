#pragma once

#include "absl/status/status.h"
#include "coordinator/fleet/agent_endpoint.h"

namespace fetchbench::coordinator {

// Why an agent cannot be reached, in words that a person can act on. `status` is what gRPC says of
// it, which for a failed handshake is little: so it is dialled once more, without gRPC, and the
// reason taken from there. What is no such failure is returned as it is. Blocks, for some seconds
// at most. Any thread.
absl::Status ExplainUnreachable(const AgentEndpoint& endpoint, const absl::Status& status);

// The same without asking anybody: what we have against the certificate that an agent has shown, or
// why there is no connection, without the words that gRPC puts around it; all else is returned as
// it is. Pure.
absl::Status ExplainRefusal(const absl::Status& status);

}  // namespace fetchbench::coordinator
