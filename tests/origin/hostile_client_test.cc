#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/origin/running_origin.h"

// Clients that do everything wrong must leave the origin working for the next one.
namespace fetchbench::origin {
namespace {

using ::testing::StartsWith;

void ExpectStillServing(RunningOrigin& origin) {
  Client client(kServing, origin->https_port());
  ASSERT_TRUE(client.StartTls(origin->ca_pem(), "a.test")) << client.tls_error();
  client.Send(GetRequest("a.test"));
  EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200"));
}

TEST(HostileClientTest, GarbageOnTheTlsPortEndsThatConnectionOnly) {
  RunningOrigin origin;
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    Client client(kServing, origin->https_port());
    std::string bytes(1 + random() % 600, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 == 0) bytes.replace(0, std::min<size_t>(3, bytes.size()), "\x16\x03\x01");
    client.Send(bytes);
    client.FinishSending();
    client.ReadToEnd();
    EXPECT_NE(client.end(), Client::End::kTimeout);
  }
  ExpectStillServing(origin);
}

TEST(HostileClientTest, ClientsMayVanishInEveryPhase) {
  RunningOrigin origin("hostile");
  for (int i = 0; i < 60; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example.net";
    { Client never_speaks(kServing, origin->https_port()); }
    {
      Client resets(kServing, origin->https_port());
      resets.Send("\x16\x03\x01\x02");
      resets.Reset();
    }
    {
      constexpr int kShortMs = 20;
      Client leaves_early(kServing, origin->https_port(), kShortMs);
      if (leaves_early.StartTls(origin->ca_pem(), host)) leaves_early.Send(GetRequest(host));
    }
    {
      Client leaves_request(kServing, origin->http_port());
      leaves_request.Send(GetRequest(host));
      leaves_request.Reset();
    }
  }
  Client client(kServing, origin->http_port());
  client.Send(GetRequest("status-204.conformance.test"));
  EXPECT_THAT(client.ReadUntil([](const std::string& s) { return s.ends_with("\r\n\r\n"); }),
              StartsWith("HTTP/1.1 204"));
}

TEST(HostileClientTest, MoreConnectionsThanAllowedAreClosedAndRoomComesBack) {
  RunningOrigin origin;
  {
    std::vector<std::unique_ptr<Client>> many;
    constexpr int kMoreThanMax = 520;
    for (int i = 0; i < kMoreThanMax; ++i) {
      many.push_back(std::make_unique<Client>(kServing, origin->http_port()));
    }
    many.back()->Send(GetRequest("a.test"));
    EXPECT_EQ(many.back()->ReadToEnd(), "");
    EXPECT_NE(many.back()->end(), Client::End::kTimeout);
  }
  // The closes above arrive in order before this request is read.
  for (int i = 0; i < 50; ++i) {
    Client client(kServing, origin->http_port());
    client.Send(GetRequest("a.test"));
    if (client.ReadResponse().starts_with("HTTP/1.1 200")) return;
  }
  FAIL() << "no room came back";
}

TEST(HostileClientTest, AnOriginStopsWhileConnectionsAreOpen) {
  std::vector<std::unique_ptr<Client>> open;
  {
    RunningOrigin origin;
    for (int i = 0; i < 20; ++i) {
      open.push_back(std::make_unique<Client>(kServing, origin->http_port()));
      open.back()->Send(GetRequest("never-answers.conformance.test"));
      open.push_back(std::make_unique<Client>(kServing, origin->https_port()));
    }
    ExpectStillServing(origin);
  }
  open[0]->ReadToEnd();
  EXPECT_NE(open[0]->end(), Client::End::kTimeout);
}

}  // namespace
}  // namespace fetchbench::origin
