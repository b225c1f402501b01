#include "agent/container/entry/probe.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

// Datagrams and the answers to them may be lost, or limited in their rate.
constexpr int kTries = 8;
constexpr int kPatienceMs = 500;

// What the kernel noted of an ICMP message about this socket's datagram.
bool IsGuardsAnswer(int s) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[512] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(s, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_IP || header->cmsg_type != IP_RECVERR) continue;
    sock_extended_err error{};
    memcpy(&error, CMSG_DATA(header), sizeof error);
    return error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH &&
           error.ee_code == ICMP_NET_ANO;
  }
  return false;
}

}  // namespace

int ProbeGuard(const char* address, const char* port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<unsigned short>(atoi(port)));
  const int on = 1;
  const int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
      setsockopt(s, SOL_IP, IP_RECVERR, &on, sizeof on) != 0 ||
      connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    return 1;
  }
  for (int i = 0; i < kTries; ++i) {
    if (send(s, "", 1, 0) < 0) continue;  // the error of the one before
    pollfd wait{s, 0, 0};
    if (poll(&wait, 1, kPatienceMs) > 0) return IsGuardsAnswer(s) ? 0 : 1;
  }
  return 1;
}
