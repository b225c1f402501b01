#pragma once

#include "agent/run_keeper.h"
#include "common/grpc_server_stream.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

using PrepareStream = ServerStream<v1::PrepareProgress, v1::PrepareRequest>;

// Serves one Prepare call from its start to its end. On the loop.
Task<> ServePrepare(PrepareStream stream, RunKeeper& keeper, net::any_io_executor loop);

}  // namespace fetchbench::agent
