#include "origin/dns_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "tests/origin/running_origin.h"

namespace fetchbench::origin {
namespace {

std::string Query(uint16_t id, std::string_view host, uint8_t type = kTypeA) {
  std::string m{
      static_cast<char>(id >> 8), static_cast<char>(id & 0xff), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  while (!host.empty()) {
    const size_t dot = std::min(host.find('.'), host.size());
    m += static_cast<char>(dot);
    m += host.substr(0, dot);
    host.remove_prefix(std::min(dot + 1, host.size()));
  }
  m += std::string{0, 0, static_cast<char>(type), 0, 1};
  return m;
}

int RcodeIn(const std::string& reply) { return reply.size() < 12 ? -1 : reply[3] & 0x0f; }
int AnswersIn(const std::string& reply) { return reply.size() < 12 ? -1 : reply[7]; }
bool IsTruncated(const std::string& reply) { return (reply[2] & 0x02) != 0; }
uint32_t LastAddress(const std::string& reply) {
  uint32_t network = 0;
  reply.copy(reinterpret_cast<char*>(&network), 4, reply.size() - 4);
  return ntohl(network);
}

class UdpClient {
 public:
  explicit UdpClient(const net::ip::udp::endpoint& to) : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
    EXPECT_EQ(connect(fd_, to.data(), static_cast<socklen_t>(to.size())), 0);
  }
  ~UdpClient() { close(fd_); }
  UdpClient(const UdpClient&) = delete;
  UdpClient& operator=(const UdpClient&) = delete;

  void Send(const std::string& query) { send(fd_, query.data(), query.size(), 0); }
  // Empty: nothing came in time.
  std::string Receive(int timeout_ms = 5'000) {
    const timeval limit{timeout_ms / 1000, timeout_ms % 1000 * 1000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    std::string reply(2'000, '\0');
    const ssize_t n = recv(fd_, reply.data(), reply.size(), 0);
    reply.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return reply;
  }
  std::string Ask(const std::string& query) {
    Send(query);
    return Receive();
  }

 private:
  int fd_;
};

std::string AskTcp(RunningOrigin& origin, const std::string& query) {
  Client client(INADDR_LOOPBACK, origin->dns_endpoint().port());
  std::string framed{static_cast<char>(query.size() >> 8), static_cast<char>(query.size() & 0xff)};
  client.Send(framed + query);
  const std::string reply = client.ReadUntil([](const std::string& s) {
    if (s.size() < 2) return false;
    const size_t high = static_cast<uint8_t>(s[0]);
    return s.size() >= 2 + (high << 8 | static_cast<uint8_t>(s[1]));
  });
  return reply.size() < 2 ? "" : reply.substr(2);
}

TEST(DnsServerTest, EveryNameHasAnAddressAmongTheServingOnes) {
  RunningOrigin origin;
  UdpClient client(origin->dns_endpoint());
  std::map<uint32_t, int> seen;
  for (uint16_t i = 0; i < 100; ++i) {
    const std::string reply = client.Ask(Query(i, "h" + std::to_string(i) + ".test"));
    ASSERT_EQ(AnswersIn(reply), 1);
    ++seen[LastAddress(reply)];
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen.begin()->first, kServing);
}

TEST(DnsServerTest, OtherTypesAreEmptyAndNotAnError) {
  RunningOrigin origin;
  UdpClient client(origin->dns_endpoint());
  for (const uint8_t type : {28, 15, 16, 65}) {
    const std::string reply = client.Ask(Query(type, "a.test", type));
    EXPECT_EQ(RcodeIn(reply), 0);
    EXPECT_EQ(AnswersIn(reply), 0);
  }
}

// Whichever of the two answers a client hears first, it hears the same.
TEST(DnsServerTest, GarbageAnnouncesARecordThatIsNotThereForEitherFamily) {
  RunningOrigin origin;
  constexpr uint8_t kTypeAaaa = 28;
  for (const uint8_t type : {static_cast<uint8_t>(kTypeA), kTypeAaaa}) {
    UdpClient client(origin->dns_endpoint());
    const std::string query = Query(7, "dns-garbage.conformance.test", type);
    const std::string reply = client.Ask(query);
    EXPECT_EQ(RcodeIn(reply), 0);
    EXPECT_EQ(AnswersIn(reply), 1);
    const size_t record = std::string(
                              "\x0b"
                              "dns-garbage\x0b"
                              "conformance\x04test")
                              .size() +
                          1 + 10;
    EXPECT_LT(reply.size(), query.size() + record + (type == kTypeA ? 4 : 16));
    EXPECT_GT(reply.size(), query.size());
  }
}

TEST(DnsServerTest, MalformedQueriesGetFormErrOrNothing) {
  RunningOrigin origin;
  UdpClient client(origin->dns_endpoint());
  client.Send("short");
  std::string two = Query(7, "a.test");
  two[5] = 2;
  EXPECT_EQ(RcodeIn(client.Ask(two)), 1);
}

TEST(DnsServerTest, UnknownConformanceNamesDoNotExist) {
  RunningOrigin origin;
  UdpClient client(origin->dns_endpoint());
  EXPECT_EQ(RcodeIn(client.Ask(Query(1, "no-such-thing.conformance.test"))), 3);
  EXPECT_EQ(AnswersIn(client.Ask(Query(2, "status-204.conformance.test"))), 1);
  const std::string refused = client.Ask(Query(3, "connect-refused.conformance.test"));
  EXPECT_EQ(LastAddress(refused) >> 16, 0x7f50u);
}

TEST(DnsServerTest, AnswersFollowTheHostsPlan) {
  RunningOrigin origin("hostile");
  UdpClient client(origin->dns_endpoint());
  int silent = 0;
  for (uint16_t i = 0; i < 200; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example.net";
    const DnsPlan plan = origin->world().Look(host).plan.dns;
    if (plan.delay > Micros(50'000)) continue;
    client.Send(Query(i, host));
    if (plan.kind == DnsKind::kSilent) {
      if (++silent == 1) {
        EXPECT_EQ(client.Receive(100), "");
      }
      continue;
    }
    const std::string reply = client.Receive();
    ASSERT_EQ(static_cast<uint8_t>(reply[1]), i % 256) << "a reply of another query";
    if (plan.kind == DnsKind::kNxdomain) {
      EXPECT_EQ(RcodeIn(reply), 3);
    } else if (plan.kind == DnsKind::kServfail) {
      EXPECT_EQ(RcodeIn(reply), 2);
    } else if (plan.truncate_udp) {
      EXPECT_TRUE(IsTruncated(reply));
      EXPECT_GE(AnswersIn(AskTcp(origin, Query(i, host))), 1);
    } else {
      EXPECT_EQ(AnswersIn(reply),
                static_cast<int>(plan.addresses.size) + (plan.through_cname ? 1 : 0));
    }
  }
  EXPECT_GT(silent, 0);
}

TEST(DnsServerTest, TcpAnswersManyQueriesOfOneConnection) {
  RunningOrigin origin;
  Client client(INADDR_LOOPBACK, origin->dns_endpoint().port());
  const std::string query = Query(9, "a.test");
  std::string framed{0, static_cast<char>(query.size())};
  framed += query;
  client.Send(framed + framed + framed);
  const std::string replies =
      client.ReadUntil([&](const std::string& s) { return s.size() >= 3 * (framed.size() + 16); });
  EXPECT_EQ(replies.size(), 3 * (framed.size() + 16));
}

}  // namespace
}  // namespace fetchbench::origin
