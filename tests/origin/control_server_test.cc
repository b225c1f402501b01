#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <chrono>

#include <boost/json/parse.hpp>

#include "tests/origin/running_origin.h"

namespace fetchbench::origin {
namespace {

namespace json = boost::json;

TEST(ControlServerTest, TellsItsConfiguration) {
  RunningOrigin origin;
  const json::value config = json::parse(origin.Control("GET", "/v1/config"));
  EXPECT_EQ(config.at("profile"), "fast");
  EXPECT_EQ(config.at("seed"), 1);
  EXPECT_EQ(config.at("addresses"), 4);
  EXPECT_EQ(config.at("http_port"), origin->http_port());
  EXPECT_EQ(config.at("https_port"), origin->https_port());
  EXPECT_EQ(config.at("connect_to").at(1).as_string(),
            ":443::" + std::to_string(origin->https_port()));
  EXPECT_EQ(config.at("profile_sha256").as_string().size(), 64u);
  EXPECT_EQ(config.at("ca_sha256").as_string().size(), 64u);
  EXPECT_EQ(origin.Control("GET", "/v1/ca.pem"), origin->ca_pem());
}

TEST(ControlServerTest, CountsOneRunAtATime) {
  RunningOrigin origin;
  int status = 0;
  origin.Control("GET", "/v1/runs/a", "", &status);
  EXPECT_EQ(status, 404);
  EXPECT_EQ(origin.Control("POST", "/v1/runs/a", "", &status), "{}");
  EXPECT_EQ(status, 200);
  {
    Client client(kServing, origin->https_port());
    ASSERT_TRUE(client.StartTls(origin->ca_pem(), "a.test")) << client.tls_error();
    for (int i = 0; i < 3; ++i) {
      client.Send(GetRequest("a.test"));
      client.ReadResponse();
    }
    Client other(kServing, origin->http_port());
    other.Send(GetRequest("b.test"));
    other.ReadResponse();
  }
  const json::value run = json::parse(origin.Control("GET", "/v1/runs/a"));
  EXPECT_EQ(run.at("run"), "a");
  EXPECT_EQ(run.at("connections"), 2);
  EXPECT_EQ(run.at("tls_handshakes"), 1);
  EXPECT_EQ(run.at("requests"), 4);
  EXPECT_EQ(run.at("responses").at("200"), 4);
  EXPECT_EQ(run.at("hosts"), 2);
  EXPECT_EQ(run.at("most_in_flight"), 1);
  EXPECT_EQ(run.at("most_requests_of_a_host"), 1);
  EXPECT_GT(run.at("cpu_us").to_number<int64_t>(), 0);
  origin.Control("POST", "/v1/runs/b");
  EXPECT_EQ(json::parse(origin.Control("GET", "/v1/runs/b")).at("requests"), 0);
  origin.Control("GET", "/v1/runs/a", "", &status);
  EXPECT_EQ(status, 404);
}

TEST(ControlServerTest, ReportsHowLateItWas) {
  RunningOrigin origin("lan");
  origin.Control("POST", "/v1/runs/a");
  for (int i = 0; i < 10; ++i) {
    Client client(kServing, origin->http_port());
    client.Send(GetRequest("h" + std::to_string(i) + ".test", "/", "Connection: close\r\n"));
    client.ReadToEnd();
  }
  const json::value lateness = json::parse(origin.Control("GET", "/v1/runs/a")).at("lateness_us");
  EXPECT_GE(lateness.at("count").to_number<int64_t>(), 9);
  EXPECT_LE(lateness.at("p50").to_number<int64_t>(), lateness.at("p99").to_number<int64_t>());
  EXPECT_LE(lateness.at("p99").to_number<int64_t>(), lateness.at("max").to_number<int64_t>());
}

TEST(ControlServerTest, IssuesCertificatesForAListBeforehand) {
  RunningOrigin origin;
  EXPECT_EQ(origin.Control("POST", "/v1/certificates", "a.test\r\n\n B.test \nc.test"),
            R"({"issued":3})");
}

TEST(ControlServerTest, RemembersWhatConformanceHostsWereAsked) {
  RunningOrigin origin;
  const std::string host = "status-204.conformance.test";
  {
    Client client(kServing, origin->https_port());
    ASSERT_TRUE(client.StartTls(origin->ca_pem(), host)) << client.tls_error();
    client.Send(GetRequest(host, "/x?y", "Connection: close\r\nUser-Agent: me\r\n"));
    client.ReadUntil([](const std::string& s) { return s.ends_with("\r\n\r\n"); });
  }
  const json::value log = json::parse(origin.Control("GET", "/v1/hosts/" + host));
  EXPECT_EQ(log.at("host"), json::string_view(host.data(), host.size()));
  EXPECT_EQ(log.at("connections"), 1);
  ASSERT_EQ(log.at("requests").as_array().size(), 1u);
  EXPECT_EQ(log.at("requests").at(0).at("method"), "GET");
  EXPECT_EQ(log.at("requests").at(0).at("target"), "/x?y");
  EXPECT_EQ(log.at("requests").at(0).at("headers").at("User-Agent"), "me");
  EXPECT_EQ(json::parse(origin.Control("GET", "/v1/hosts/a.test")).at("connections"), 0);
}

// CPU time, not wall time: a busy machine does not change it.
TEST(ControlServerTest, APauseTakesNoCpuTime) {
  RunningOrigin origin("published");
  origin.Control("POST", "/v1/runs/a");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    Client client(kServing, origin->http_port());
    client.Send(GetRequest("h" + std::to_string(i) + ".test", "/", "Connection: close\r\n"));
    client.ReadToEnd();
  }
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  const json::value run = json::parse(origin.Control("GET", "/v1/runs/a"));
  EXPECT_LT(run.at("cpu_us").to_number<int64_t>(), waited.count() / 2);
}

// Whether a counter of the host's log becomes `wanted` well before the pauses of 20 s are over.
bool Becomes(RunningOrigin& origin, const std::string& host, const char* counter, int wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (json::parse(origin.Control("GET", "/v1/hosts/" + host)).at(counter) == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void ExpectOneClose(RunningOrigin& origin, const std::string& host) {
  EXPECT_TRUE(Becomes(origin, host, "closes", 1));
  const json::value log = json::parse(origin.Control("GET", "/v1/hosts/" + host));
  EXPECT_EQ(log.at("closed_at_us").as_array().size(), 1u);
}

TEST(ControlServerTest, TellsAtOnceThatAPeerWentAwayDuringAPause) {
  RunningOrigin origin;
  const std::string host = "answers-after-the-deadline.conformance.test";  // after 20 s
  {
    Client client(kServing, origin->http_port());
    client.Send(GetRequest(host, "/", ""));
    ASSERT_TRUE(Becomes(origin, host, "connections", 1));
    EXPECT_EQ(json::parse(origin.Control("GET", "/v1/hosts/" + host)).at("closes"), 0);
  }
  ExpectOneClose(origin, host);
}

TEST(ControlServerTest, TellsItOverTlsTooWhoseLastRecordNobodyReads) {
  RunningOrigin origin;
  const std::string host = "answers-after-the-deadline.conformance.test";
  const std::string ca = origin.Control("GET", "/v1/ca.pem");
  {
    Client client(kServing, origin->https_port());
    ASSERT_TRUE(client.StartTls(ca, host)) << client.tls_error();
    client.Send(GetRequest(host, "/", ""));
    ASSERT_TRUE(Becomes(origin, host, "connections", 1));
    SSL_shutdown(client.ssl());
  }
  ExpectOneClose(origin, host);
}

TEST(ControlServerTest, APauseAfterARedirectTellsItOnce) {
  RunningOrigin origin;
  const std::string host = "slow-redirects.conformance.test";
  {
    Client client(kServing, origin->http_port());
    client.Send(GetRequest(host, "/", ""));
    client.ReadResponse();
    client.Send(GetRequest(host, "/1", ""));
  }
  ExpectOneClose(origin, host);
}

TEST(ControlServerTest, UnknownCallsAre404) {
  RunningOrigin origin;
  int status = 0;
  origin.Control("GET", "/", "", &status);
  EXPECT_EQ(status, 404);
  origin.Control("DELETE", "/v1/runs/a", "", &status);
  EXPECT_EQ(status, 404);
  origin.Control("POST", "/v1/runs/", "", &status);
  EXPECT_EQ(status, 404);
}

}  // namespace
}  // namespace fetchbench::origin
