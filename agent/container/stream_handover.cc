#include "agent/container/stream_handover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/spawn.h"
#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

constexpr int kStreams = 3;
// The container's user is another one; the folder keeps the host's users out.
constexpr mode_t kOpenToAll = 0666;

// A path of any length, as the kernel takes it for a socket: by way of an open folder.
struct ShortPath {
  Fd folder;
  std::string path;
};
absl::StatusOr<ShortPath> Shorten(const std::string& folder, const std::string& name) {
  Fd fd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FromErrno(errno, fmt::format("opening the folder {}", folder));
  std::string path = fmt::format("/proc/self/fd/{}/{}", fd.get(), name);
  return ShortPath{std::move(fd), std::move(path)};
}

// A name that nothing else has.
absl::StatusOr<std::string> NewName(const std::string& folder) {
  std::string path = folder + "/streams-XXXXXX";
  const Fd fd(mkstemp(path.data()));
  if (!fd.valid()) return FromErrno(errno, fmt::format("making a file in {}", folder));
  unlink(path.c_str());
  return path.substr(folder.size() + 1);
}

}  // namespace

absl::StatusOr<std::shared_ptr<StreamHandover>> StreamHandover::Make(
    const net::any_io_executor& loop, const std::string& folder) {
  absl::StatusOr<StandardPipes> pipes = MakeStandardPipes();
  if (!pipes.ok()) return pipes.status();
  // A program may open /dev/stdout anew, as its own user.
  for (const Fd* end : {&pipes->input.read, &pipes->output.write, &pipes->errors.write}) {
    fchmod(end->get(), kOpenToAll);
  }
  std::shared_ptr<StreamHandover> made(new StreamHandover(loop, *std::move(pipes)));
  if (absl::Status s = made->Listen(folder); !s.ok()) return s;
  return made;
}

StreamHandover::~StreamHandover() {
  if (!path_.empty()) unlink(path_.c_str());
}

absl::Status StreamHandover::Listen(const std::string& folder) {
  absl::StatusOr<std::string> name = NewName(folder);
  if (!name.ok()) return name.status();
  absl::StatusOr<ShortPath> path = Shorten(folder, *name);
  if (!path.ok()) return path.status();
  const std::string what = fmt::format("making the socket {}/{}", folder, *name);
  const net::local::stream_protocol::endpoint endpoint(path->path);
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) path_ = folder + "/" + *name;
  if (!error) acceptor_.listen(1, error);
  if (error) return FromErrno(error.value(), what);
  if (chmod(path_.c_str(), kOpenToAll) != 0) return FromErrno(errno, what);
  return absl::OkStatus();
}

OurEnds StreamHandover::Begin() {
  OurEnds ours = pipes_.TakeOurs();
  Spawn(acceptor_.get_executor(), "container streams", Serve(shared_from_this()));
  return ours;
}

Task<> StreamHandover::Serve(std::shared_ptr<StreamHandover> self) {
  auto [error, connection] = co_await self->acceptor_.async_accept(kAsTuple);
  if (!error) {
    const absl::Status sent = self->Send(connection.native_handle());
    if (!sent.ok()) spdlog::warn("{}", std::string(sent.message()));
  }
  self->Close();
}

absl::Status StreamHandover::Send(int connection) const {
  const std::array<int, kStreams> fds = {pipes_.input.read.get(), pipes_.output.write.get(),
                                         pipes_.errors.write.get()};
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  if (sendmsg(connection, &message, MSG_NOSIGNAL) != 1) {
    return FromErrno(errno, "giving a container its standard streams");
  }
  return absl::OkStatus();
}

void StreamHandover::Close() {
  error_code ignored;
  acceptor_.close(ignored);
  pipes_ = StandardPipes();
}

}  // namespace fetchbench::agent
