#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "origin/body.h"
#include "origin/listeners.h"
#include "tests/origin/running_origin.h"

namespace fetchbench::origin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HttpServerTest, AnswersAnyHostOnAnyAddress) {
  RunningOrigin origin;
  for (uint32_t i = 0; i < 4; ++i) {
    Client client(kServing + i, origin->http_port());
    client.Send(GetRequest("h" + std::to_string(i) + ".test"));
    const std::string response = client.ReadResponse();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(response.ends_with("\r\n\r\n" + std::string(Pattern().substr(0, 1'024))));
  }
}

TEST(HttpServerTest, KeepsAConnectionForManyRequestsEvenPipelined) {
  RunningOrigin origin;
  Client client(kServing, origin->http_port());
  client.Send(GetRequest("a.test") + GetRequest("b.test"));
  EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200"));
  client.Send(GetRequest("a.test", "/", "Connection: close\r\n"));
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("Connection: close"));
  EXPECT_EQ(client.end(), Client::End::kClosed);
}

TEST(HttpServerTest, HeadHasNoBody) {
  RunningOrigin origin;
  Client client(kServing, origin->http_port());
  client.Send("HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
  const std::string all = client.ReadToEnd();
  EXPECT_THAT(all, HasSubstr("Content-Length: 1024"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n"));
}

TEST(HttpServerTest, ARequestInSmallPiecesIsUnderstood) {
  RunningOrigin origin;
  Client client(kServing, origin->http_port());
  for (const char c : GetRequest("a.test")) client.Send(std::string_view(&c, 1));
  EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, NoRequestMeans400OrAClose) {
  RunningOrigin origin;
  Client garbage(kServing, origin->http_port());
  garbage.Send("\x16\x03\x01 this is not HTTP\r\n\r\n");
  EXPECT_THAT(garbage.ReadToEnd(), StartsWith("HTTP/1.1 400"));
  Client huge(kServing, origin->http_port());
  huge.Send("GET / HTTP/1.1\r\nHost: a.test\r\nX: " + std::string(100'000, 'x'));
  EXPECT_THAT(huge.ReadUntil([](const std::string& s) { return s.size() > 12; }),
              StartsWith("HTTP/1.1 400"));
  Client nothing(kServing, origin->http_port());
  nothing.FinishSending();
  EXPECT_EQ(nothing.ReadToEnd(), "");
}

TEST(HttpServerTest, RefusingAddressesRefuse) {
  RunningOrigin origin;
  const auto& book = origin->world().addresses();
  for (const uint16_t port : {origin->http_port(), origin->https_port()}) {
    Client client(book.refusing[0], port);
    EXPECT_EQ(client.connect_errno(), ECONNREFUSED);
  }
}

TEST(HttpServerTest, BlackHolesNeverConnect) {
  RunningOrigin origin;
  const auto& book = origin->world().addresses();
  constexpr int kShortMs = 300;
  for (const uint16_t port : {origin->http_port(), origin->https_port()}) {
    Client client(book.black_hole[0], port, kShortMs);
    EXPECT_EQ(client.connect_errno(), EINPROGRESS);  // SO_SNDTIMEO is over
  }
}

// A kernel that grants ordinary users no socket filter is why; as root this test becomes nobody.
TEST(HttpServerTest, BlackHolesNeedNoPrivilege) {
  const auto listen = [] {
    constexpr uid_t kNobody = 65'534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    net::io_context io;
    const auto acceptor = ListenAsBlackHole(io, 0x7f510001, 0);
    if (!acceptor.ok()) fmt::print(stderr, "{}\n", acceptor.status().ToString());
    _exit(acceptor.ok() ? 0 : 1);
  };
  EXPECT_EXIT(listen(), ::testing::ExitedWithCode(0), "");
}

// Each host's status, redirect and body arrive as planned, whatever the framing.
TEST(HttpServerTest, ResponsesFollowTheHostsPlan) {
  RunningOrigin origin("lan");
  for (int i = 0; i < 100; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example.net";
    const HttpPlan plan = origin->world().Look(host).plan.http;
    Client client(kServing, origin->http_port());
    client.Send(GetRequest(host, "/", "Connection: close\r\n"));
    const std::string all = client.ReadToEnd();
    EXPECT_THAT(all, StartsWith("HTTP/1.1 " + std::to_string(plan.status)));
    const std::string body = all.substr(all.find("\r\n\r\n") + 4);
    if (plan.framing == Framing::kChunked) {
      EXPECT_TRUE(body.ends_with("0\r\n\r\n"));
      EXPECT_GT(body.size(), plan.body_bytes);
    } else {
      EXPECT_EQ(body.size(), plan.body_bytes);
    }
  }
}

TEST(HttpServerTest, ABehaviourServesItsHostOverHttpToo) {
  RunningOrigin origin;
  Client client(kServing, origin->http_port());
  for (int i = 0; i < 2; ++i) {
    client.Send(GetRequest("tls-ok.conformance.test"));
    EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200"));
  }
}

}  // namespace
}  // namespace fetchbench::origin
