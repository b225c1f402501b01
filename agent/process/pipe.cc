#include "agent/process/pipe.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

// The target writes into a pipe that holds a second's worth: it must not wait for us. Without the
// permission for this size the usual 64 KiB stay.
constexpr int kOutputPipeBytes = 1 << 20;

Fd Ours(Fd& fd) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return std::move(fd);
}

}  // namespace

absl::StatusOr<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) return FromErrno(errno, "making a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

absl::StatusOr<StandardPipes> MakeStandardPipes() {
  StandardPipes pipes;
  for (Pipe* pipe : {&pipes.input, &pipes.output, &pipes.errors}) {
    absl::StatusOr<Pipe> made = MakePipe();
    if (!made.ok()) return made.status();
    *pipe = *std::move(made);
  }
  fcntl(pipes.output.read.get(), F_SETPIPE_SZ, kOutputPipeBytes);
  return pipes;
}

OurEnds StandardPipes::TakeOurs() {
  return OurEnds{Ours(input.write), Ours(output.read), Ours(errors.read)};
}

}  // namespace fetchbench::agent
