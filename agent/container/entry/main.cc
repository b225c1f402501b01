// fetchbench-entry: the first program of a target's container. It fetches the pipes that the target
// gets as its standard streams from the agent, and becomes the target.
//
// Without it the target's lines would go through shim and Docker daemon, which read and write each
// of them by itself: a fifth of what the target uses, and none of it the target's. Linked
// statically, because the image may hold nothing else; so in C, but for the language.
//
// With --probe ADDRESS PORT it only tells, by its exit code, whether fetchbench-guard answers
// there.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/container/entry/paths.h"
#include "agent/container/entry/probe.h"

namespace {

constexpr int kStreams = 3;
constexpr int kNotStarted = 127;  // as a shell has it

int Fail(const char* what, const char* which) {
  dprintf(STDERR_FILENO, "fetchbench-entry: %s%s: %s\n", what, which, strerror(errno));
  return kNotStarted;
}

bool Connect(int s) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof kEntrySocketPath <= sizeof address.sun_path);
  memcpy(address.sun_path, kEntrySocketPath, sizeof kEntrySocketPath);
  return connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// The agent sends one byte, and with it the descriptors.
bool Receive(int s, int* fds) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kStreams)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = 0;
  do {
    n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int) * kStreams)) {
    errno = EPROTO;
    return false;
  }
  memcpy(fds, CMSG_DATA(header), sizeof(int) * kStreams);
  return true;
}

// As execvp(3) does it, but without handing a file that is no program to a shell: that would run
// what was built for another processor as a script. Returns when it failed, with errno.
void Become(char** argv) {
  if (strchr(argv[0], '/') != nullptr) {
    execv(argv[0], argv);
    return;
  }
  const char* path = getenv("PATH");
  if (path == nullptr) path = "/usr/local/bin:/usr/bin:/bin";
  int error = ENOENT;
  while (*path != '\0') {
    const int length = static_cast<int>(strcspn(path, ":"));
    char file[PATH_MAX];
    const bool here = length == 0;  // an empty folder is the present one
    const int n =
        snprintf(file, sizeof file, "%.*s/%s", here ? 1 : length, here ? "." : path, argv[0]);
    if (n > 0 && n < PATH_MAX) {
      execv(file, argv);
      if (errno != ENOENT && errno != ENOTDIR) error = errno;
    }
    path += length;
    if (*path == ':') ++path;
  }
  errno = error;
}

// Where the kernel's words name the wrong file, or none.
const char* Hint(const char* program) {
  if (errno == ENOENT && strchr(program, '/') != nullptr && access(program, F_OK) == 0) {
    return " (its interpreter or dynamic loader is not in the image)";
  }
  if (errno == ENOEXEC) {
    return " (built for another kind of processor, or a script without a line #!)";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    dprintf(STDERR_FILENO, "fetchbench-entry: started without a program\n");
    return kNotStarted;
  }
  if (argc == 4 && strcmp(argv[1], kEntryProbeWord) == 0) return ProbeGuard(argv[2], argv[3]);
  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0 || !Connect(s)) return Fail("reaching the agent at ", kEntrySocketPath);
  int fds[kStreams] = {};
  if (!Receive(s, fds)) return Fail("getting the standard streams from ", kEntrySocketPath);
  // The copies stay open over exec, everything else closes itself.
  for (int i = 0; i < kStreams; ++i) {
    if (dup2(fds[i], i) < 0) return Fail("taking the standard streams from ", kEntrySocketPath);
  }
  Become(argv + 1);
  const int error = errno;
  const char* hint = Hint(argv[1]);
  dprintf(STDERR_FILENO, "fetchbench-entry: starting %s: %s%s\n", argv[1], strerror(error), hint);
  return kNotStarted;
}
