#pragma once

namespace fetchbench {

// Sends what gRPC has to say, such as why a handshake failed, to our own log instead of standard
// error: as warnings, so many of a kind a minute (LogBudget), or, for a program whose own messages
// tell the same, as debug lines. Once, before the first use of gRPC.
enum class GrpcLog { kWarnings, kDebug };
void SendGrpcLog(GrpcLog level);

}  // namespace fetchbench
