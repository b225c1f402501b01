#pragma once

#include "agent/prepare_stream.h"
#include "agent/run_keeper.h"
#include "common/grpc_server_stream.h"
#include "common/net.h"
#include "fetchbench/v1/agent.pb.h"

// Images of targets on their way from one agent to others, so that a fleet runs one build.
namespace fetchbench::agent {

using ExportStream = ServerStream<v1::ImagePiece, v1::ExportImageRequest>;

// Which image of a container target is here: the one with this `id`, whatever its name is, else the
// one that has the target's name. Empty: no id is looked for. Changes nothing.
Task<absl::StatusOr<v1::PrepareProgress>> LookForImage(RunKeeper& keeper, v1::TargetSpec target,
                                                       std::string id);

// Sees to it that the target's image is the one with start.image_id(): asks for its archive when it
// is not here, and loads it. ResourceExhausted: a run is under way. InvalidArgument: such an
// archive is not taken. FailedPrecondition: it held something else than was announced, of which
// nothing stays here.
Task<absl::Status> TakeImage(PrepareStream& stream, RunKeeper& keeper, net::any_io_executor loop,
                             v1::PrepareStart start);

// Serves one ExportImage call from its start to its end. On the loop.
Task<> ServeExport(ExportStream stream, RunKeeper& keeper);

}  // namespace fetchbench::agent
