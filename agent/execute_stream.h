#pragma once

#include "agent/run_keeper.h"
#include "common/grpc_server_stream.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

using ExecuteStream = ServerStream<v1::AgentMessage, v1::CoordinatorMessage>;

// Serves one Execute call from its Start to its end. On the loop.
Task<> ServeExecute(ExecuteStream stream, RunKeeper& keeper, net::any_io_executor loop);

}  // namespace fetchbench::agent
