#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/docker/engine_connection.h"
#include "common/docker/stream_demux.h"
#include "common/net.h"

namespace fetchbench::docker {

// The two-way connection to a container's standard streams. One Read and one Write at a time, both
// may be under way at once; no deadlines: Close ends them. Somebody must read it to its end or
// close it, because Engine 20.10 does not stop, show or remove a container whose output nobody
// takes. All on the client's loop.
class AttachStream {
 public:
  explicit AttachStream(std::shared_ptr<EngineConnection> connection);
  ~AttachStream();  // closes
  AttachStream(AttachStream&&) noexcept = default;
  AttachStream& operator=(AttachStream&&) noexcept = default;

  // Hands what has come to `sink`. OutOfRange: the container's output ended; DataLoss: the stream
  // makes no sense; otherwise the connection broke.
  Task<absl::Status> Read(StreamDemux::Sink sink);

  // All of it is with the Engine.
  Task<absl::Status> Write(std::string bytes);
  // End of file on the container's standard input.
  void CloseInput();
  void Close();

 private:
  std::shared_ptr<EngineConnection> connection_;
  std::unique_ptr<std::string> buffer_;
  StreamDemux demux_;
};

}  // namespace fetchbench::docker
