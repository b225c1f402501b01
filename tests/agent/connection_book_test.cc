// Whose connection is ended when there are too many. Real sockets on loopback.

#include "agent/connection_book.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

#include "agent/peer_address.h"

namespace fetchbench::agent {
namespace {

using ::testing::HasSubstr;
using Taken = ConnectionBook::Taken;

// One that a client made, from a loopback address of its choice.
struct Pair {
  Fd client;
  Fd server;
  std::string peer;  // as gRPC would name the client

  bool Ended() const {
    char byte = 0;
    const ssize_t n = recv(client.get(), &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
  }
};

sockaddr_in At(const std::string& ip, in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  return address;
}

sockaddr_in NameOf(const Fd& fd) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size);
  return name;
}

class ConnectionBookTest : public ::testing::Test {
 protected:
  ConnectionBookTest() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = At("127.0.0.1", 0);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(listener_.get(), 16), 0);
  }

  Pair Connect(const std::string& from) const {
    Pair pair;
    pair.client = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in own = At(from, 0);
    const sockaddr_in to = NameOf(listener_);
    EXPECT_EQ(bind(pair.client.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(connect(pair.client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    pair.server = Fd(accept(listener_.get(), nullptr, nullptr));
    pair.peer = fmt::format("ipv4:{}:{}", from, ntohs(NameOf(pair.client).sin_port));
    return pair;
  }

  // The book has a descriptor of its own of what gRPC has.
  Taken Take(const Pair& pair) { return book_.Take(Fd(dup(pair.server.get()))); }

  const Fd listener_;
  ConnectionBook book_{3};
};

TEST_F(ConnectionBookTest, TheOldestThatNeverHadACallGivesWay) {
  const Pair a = Connect("127.0.0.1");
  const Pair b = Connect("127.0.0.1");
  const Pair c = Connect("127.0.0.1");
  for (const Pair* pair : {&a, &b, &c}) ASSERT_EQ(Take(*pair), Taken::kYes);
  { const ConnectionBook::Use described = book_.Begin(a.peer); }
  const Pair d = Connect("127.0.0.1");
  EXPECT_EQ(Take(d), Taken::kForAnother);
  EXPECT_TRUE(b.Ended());
  EXPECT_FALSE(a.Ended() || c.Ended() || d.Ended());
  EXPECT_EQ(book_.counts().open, 3u);
  EXPECT_EQ(book_.counts().ended, 1u);
}

TEST_F(ConnectionBookTest, WhoHasMostIdleOnesLosesOneEvenIfOthersAreOlder) {
  const Pair honest = Connect("127.0.0.2");
  const Pair b = Connect("127.0.0.1");
  const Pair c = Connect("127.0.0.1");
  for (const Pair* pair : {&honest, &b, &c}) ASSERT_EQ(Take(*pair), Taken::kYes);
  EXPECT_THAT(book_.Crowd(), HasSubstr("3 are open, 2 of them from 127.0.0.1"));
  const Pair d = Connect("127.0.0.3");
  EXPECT_EQ(Take(d), Taken::kForAnother);
  EXPECT_TRUE(b.Ended());
  // Also when it was let in and has had its calls.
  book_.ForgetAll();
  const Pair e = Connect("127.0.0.1");
  const Pair f = Connect("127.0.0.1");
  for (const Pair* pair : {&honest, &e, &f}) ASSERT_EQ(Take(*pair), Taken::kYes);
  { const ConnectionBook::Use first = book_.Begin(e.peer); }
  { const ConnectionBook::Use second = book_.Begin(f.peer); }
  EXPECT_EQ(Take(d), Taken::kForAnother);
  EXPECT_TRUE(e.Ended());
  EXPECT_FALSE(honest.Ended());
}

TEST_F(ConnectionBookTest, WhoIsAtWorkStaysAndWithoutAnyIdleOneNobodyComesIn) {
  const Pair a = Connect("127.0.0.1");
  const Pair b = Connect("127.0.0.1");
  const Pair c = Connect("127.0.0.1");
  for (const Pair* pair : {&a, &b, &c}) ASSERT_EQ(Take(*pair), Taken::kYes);
  const ConnectionBook::Use first = book_.Begin(a.peer);
  const ConnectionBook::Use second = book_.Begin(b.peer);
  const Pair d = Connect("127.0.0.1");
  {
    const ConnectionBook::Use third = book_.Begin(c.peer);
    const ConnectionBook::Use again = book_.Begin(c.peer);
    EXPECT_EQ(Take(d), Taken::kFull);
    EXPECT_FALSE(book_.MakeRoom());
  }
  EXPECT_EQ(Take(d), Taken::kForAnother);
  EXPECT_TRUE(c.Ended());
  EXPECT_FALSE(a.Ended() || b.Ended());
}

// A burst that comes faster than gRPC hears of ends must not drive out who was let in before.
TEST_F(ConnectionBookTest, UntilRoomIsFoundOnlyStrangersAreEndedForIt) {
  const Pair known = Connect("127.0.0.1");
  const Pair b = Connect("127.0.0.1");
  const Pair c = Connect("127.0.0.1");
  for (const Pair* pair : {&known, &b, &c}) ASSERT_EQ(Take(*pair), Taken::kYes);
  { const ConnectionBook::Use described = book_.Begin(known.peer); }
  EXPECT_TRUE(book_.MakeRoom());
  EXPECT_TRUE(book_.MakeRoom());
  EXPECT_FALSE(book_.MakeRoom());
  EXPECT_FALSE(known.Ended());
  // There was room, and it is scarce again.
  const Pair d = Connect("127.0.0.1");
  ASSERT_EQ(Take(d), Taken::kYes);
  EXPECT_TRUE(book_.MakeRoom());
  EXPECT_TRUE(d.Ended());
  book_.ForgetAll();
  ASSERT_EQ(Take(known), Taken::kYes);
  { const ConnectionBook::Use described = book_.Begin(known.peer); }
  EXPECT_TRUE(book_.MakeRoom());
  EXPECT_TRUE(known.Ended());
}

TEST_F(ConnectionBookTest, ACallIsOfTheNewerConnectionWhereAnAddressAndPortCameAgain) {
  const Pair a = Connect("127.0.0.1");
  ASSERT_EQ(Take(a), Taken::kYes);  // has ended, and that was not heard of yet
  const Pair b = Connect("127.0.0.2");
  ASSERT_EQ(Take(b), Taken::kYes);
  ASSERT_EQ(Take(a), Taken::kYes);
  const ConnectionBook::Use use = book_.Begin(a.peer);
  ASSERT_TRUE(book_.MakeRoom());
  ASSERT_TRUE(book_.MakeRoom());
  EXPECT_FALSE(book_.MakeRoom()) << "what is left is at work";
}

// Their peers have no names, and are this user.
TEST_F(ConnectionBookTest, OfUnixSocketsNoneIsEnded) {
  std::array<int, 2> ends{};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const Fd other(ends[1]);
    EXPECT_EQ(book_.Take(Fd(ends[0])), Taken::kYes);
  }
  const ConnectionBook::Use use = book_.Begin("unix:");
  EXPECT_EQ(Take(Connect("127.0.0.1")), Taken::kFull);
}

TEST_F(ConnectionBookTest, NobodyIsLetInAfterAHangUpUntilItIsTold) {
  const Pair a = Connect("127.0.0.1");
  ASSERT_EQ(Take(a), Taken::kYes);
  EXPECT_EQ(book_.HangUp(), 1u);
  EXPECT_TRUE(a.Ended());
  EXPECT_EQ(Take(Connect("127.0.0.1")), Taken::kClosed);
  book_.LetIn();
  EXPECT_EQ(Take(Connect("127.0.0.1")), Taken::kYes);
}

TEST_F(ConnectionBookTest, APeerIsTheSameInGrpcsWordsAndInTheKernels) {
  const Pair a = Connect("127.0.0.9");
  ASSERT_TRUE(PeerOf(a.server.get()).has_value());
  EXPECT_EQ(PeerOf(a.server.get()), ParseGrpcPeer(a.peer));
  EXPECT_EQ(PeerOf(a.server.get())->IpText(), "127.0.0.9");
}

TEST(PeerAddressTest, GrpcsWordsAreUnderstood) {
  const auto v4 = ParseGrpcPeer("ipv4:10.1.2.3:40000");
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->port, 40'000);
  EXPECT_EQ(v4->IpText(), "10.1.2.3");
  EXPECT_EQ(v4, ParseGrpcPeer("ipv6:[::ffff:10.1.2.3]:40000"))
      << "as a socket of both kinds has it";
  const auto v6 = ParseGrpcPeer("ipv6:%5B2001:db8::5%5D:7");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->IpText(), "2001:db8::5");
  EXPECT_EQ(v6, ParseGrpcPeer("ipv6:[2001:db8::5]:7"));
  EXPECT_TRUE(ParseGrpcPeer("ipv6:%5Bfe80::1%25eth0%5D:7").has_value());
  for (const char* other : {"", "unix:", "unix:/tmp/s", "ipv4:", "ipv4:10.1.2.3", "ipv4:10.1.2:7",
                            "ipv4:10.1.2.3:", "ipv4:10.1.2.3:70000", "ipv6:%5B", "ipv6:%:7"}) {
    EXPECT_EQ(ParseGrpcPeer(other), std::nullopt) << other;
  }
}

TEST(PeerAddressTest, OfIpv6TheFirst64BitsAreOneNetwork) {
  const auto network = [](const char* peer) { return ParseGrpcPeer(peer)->Network(); };
  EXPECT_EQ(network("ipv6:[2001:db8::5]:7"), network("ipv6:[2001:db8::ffff:1]:8"));
  EXPECT_NE(network("ipv6:[2001:db8::5]:7"), network("ipv6:[2001:db8:0:1::5]:7"));
  EXPECT_EQ(network("ipv6:[2001:db8::5]:7").NetworkText(), "2001:db8::/64");
  EXPECT_EQ(network("ipv4:10.0.0.1:7").NetworkText(), "10.0.0.1");
  EXPECT_EQ(network("ipv4:10.0.0.1:7"), network("ipv4:10.0.0.1:8"));
  EXPECT_NE(network("ipv4:10.0.0.1:7"), network("ipv4:10.0.0.2:7"));
}

}  // namespace
}  // namespace fetchbench::agent
