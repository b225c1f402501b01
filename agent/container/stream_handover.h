#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/process/pipe.h"
#include "common/net.h"

namespace fetchbench::agent {

// Gives a container its standard streams: pipes of this process, handed over a Unix socket that is
// mounted into the container (SCM_RIGHTS, unix(7)) to fetchbench-entry, which becomes the target.
// On the loop, in a shared_ptr: its coroutine holds it.
class StreamHandover : public std::enable_shared_from_this<StreamHandover> {
 public:
  // The socket goes into `folder`, which is private to this user.
  static absl::StatusOr<std::shared_ptr<StreamHandover>> Make(const net::any_io_executor& loop,
                                                              const std::string& folder);
  ~StreamHandover();
  StreamHandover(const StreamHandover&) = delete;
  StreamHandover& operator=(const StreamHandover&) = delete;

  // On this host, to be mounted at kEntrySocketPath.
  const std::string& socket_path() const { return path_; }

  // Waits in the background for the container, the first to come, and gives it its ends. Ours are
  // at their end when the container's are closed, or were never fetched by Close.
  OurEnds Begin();
  // Nobody will come any more.
  void Close();

 private:
  StreamHandover(const net::any_io_executor& loop, StandardPipes pipes)
      : acceptor_(loop), pipes_(std::move(pipes)) {}

  absl::Status Listen(const std::string& folder);
  static Task<> Serve(std::shared_ptr<StreamHandover> self);
  absl::Status Send(int connection) const;

  net::local::stream_protocol::acceptor acceptor_;
  StandardPipes pipes_;  // after Begin: the container's ends, until it has them
  std::string path_;
};

}  // namespace fetchbench::agent
