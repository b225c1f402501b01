// How a fetch goes: redirects, addresses, what is sent.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/agent/native/process_fixture.h"

namespace fetchbench::native {
namespace {

using testing::Answer;
using testing::DnsScript;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScriptedConnection;
using testing::ScriptedServer;

class FetchTest : public NativeProcessTest {};

// Remembers requests; answers each of a connection with what `answer` makes of it.
class Recorder {
 public:
  explicit Recorder(std::function<std::string(const std::string&)> answer)
      : answer_(std::move(answer)), server_([this](ScriptedConnection& connection) {
          while (true) {
            const std::string request = connection.ReadRequest();
            if (request.empty()) return;
            {
              const std::lock_guard lock(mutex_);
              requests_.push_back(request);
            }
            const std::string bytes = answer_(request);
            connection.Send(bytes);
            if (bytes.find("Connection: close") != std::string::npos) return;
          }
        }) {}

  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  const ScriptedServer& server() const { return server_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::function<std::string(const std::string&)> answer_;
  ScriptedServer server_;
};

std::string OkUnlessRoot(const std::string& request, const std::string& location,
                         const std::string& more = "") {
  if (!request.starts_with("GET / ")) return kOk;
  return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n" + more +
         "\r\n";
}

TEST_F(FetchTest, SendsThePolicysRequest) {
  Recorder recorder([](const std::string&) { return kOk; });
  Fetch(Url(recorder.server(), "/p?q#f"), {"--user-agent", "me/1"});
  ASSERT_EQ(recorder.requests().size(), 1u);
  EXPECT_EQ(recorder.requests()[0],
            "GET /p?q HTTP/1.1\r\nHost: a.test:" + std::to_string(recorder.server().port()) +
                "\r\nUser-Agent: me/1\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\r\n");
}

TEST_F(FetchTest, ARedirectToTheSameOriginUsesTheConnectionAgain) {
  Recorder recorder([](const std::string& r) { return OkUnlessRoot(r, "/next"); });
  const Record record = Fetch(Url(recorder.server()));
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.redirects, 1);
  EXPECT_EQ(record.body_bytes, 5);
  EXPECT_EQ(recorder.requests().size(), 2u);
  EXPECT_EQ(recorder.server().connections(), 1);
}

TEST_F(FetchTest, AConnectionThatTheServerClosesIsNotUsedAgain) {
  Recorder recorder(
      [](const std::string& r) { return OkUnlessRoot(r, "/next", "Connection: close\r\n"); });
  ExpectOutcome(Fetch(Url(recorder.server())), Outcome::kStatus);
  EXPECT_EQ(recorder.server().connections(), 2);
}

TEST_F(FetchTest, AKeptConnectionThatDiesIsReplacedOnce) {
  std::atomic<int> connections = 0;
  const ScriptedServer server([&connections](ScriptedConnection& connection) {
    const bool first = connections++ == 0;
    const std::string request = connection.ReadRequest();
    connection.Send(first ? OkUnlessRoot(request, "/next") : kOk);
    if (first) connection.ReadRequest();  // and closes without an answer
  });
  const Record record = Fetch(Url(server));
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(connections, 2);
}

TEST_F(FetchTest, ARedirectsEndlessBodyIsNotWaitedFor) {
  const ScriptedServer server([](ScriptedConnection& connection) {
    if (!connection.ReadRequest().starts_with("GET / ")) return connection.Send(kOk);
    connection.Send("HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\nsome body");
    connection.WaitForClose();
  });
  const Record record = Fetch(Url(server));
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.body_bytes, 5);
}

TEST_F(FetchTest, MissingAndEmptyLocationMakeTheRedirectTheOutcome) {
  for (const char* location : {"", "Location:\r\n"}) {
    const ScriptedServer server(
        Answer(std::string("HTTP/1.1 302 x\r\n") + location + "Content-Length: 2\r\n\r\nok"));
    const Record record = Fetch(Url(server));
    ExpectOutcome(record, Outcome::kStatus);
    EXPECT_EQ(record.status, 302);
    EXPECT_EQ(record.body_bytes, 2);
    EXPECT_EQ(record.redirects, 0);
  }
}

TEST_F(FetchTest, CredentialsStayWithTheirOrigin) {
  names_["b.test"].v4 = {"127.0.0.1"};
  Recorder other([](const std::string&) { return kOk; });
  const std::string there = "http://b.test:" + std::to_string(other.server().port()) + "/x";
  Recorder recorder([&there](const std::string& r) {
    return OkUnlessRoot(r, r.starts_with("GET / ") ? "/same" : there);
  });
  const std::string port = std::to_string(recorder.server().port());
  Fetch("http://user:secret@a.test:" + port + "/");
  ASSERT_EQ(recorder.requests().size(), 2u);
  EXPECT_THAT(recorder.requests()[0], HasSubstr("Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
  EXPECT_THAT(recorder.requests()[1], HasSubstr("Authorization: Basic"));
  Recorder away([&there](const std::string& r) { return OkUnlessRoot(r, there); });
  Fetch("http://user:secret@a.test:" + std::to_string(away.server().port()) + "/");
  ASSERT_EQ(other.requests().size(), 1u);
  EXPECT_THAT(other.requests()[0], Not(HasSubstr("Authorization")));
}

TEST_F(FetchTest, PrivateAddressesAreRefusedAtEachRedirectToo) {
  // The first hop cannot be loopback when loopback is refused: so the rule is seen at once.
  const ScriptedServer server(Answer(kOk));
  ExpectOutcome(Fetch(Url(server), {"--deny-private"}), Outcome::kBlockedAddress);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(FetchTest, ADeadAddressDoesNotHideAGoodOne) {
  const ScriptedServer server(Answer(kOk), nullptr, "127.0.0.1");
  names_["two.test"].v4 = {"127.0.0.3", "127.0.0.1"};
  const Record record = Fetch("http://two.test:" + std::to_string(server.port()) + "/");
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_THAT(record.remote_address, HasSubstr("127.0.0.1:"));
}

TEST_F(FetchTest, Ipv6ThatIsSilentOrDeadDoesNotHideIpv4) {
  const ScriptedServer server(Answer(kOk));
  names_["silent6.test"] = DnsScript{.v4 = {"127.0.0.1"}, .aaaa_silent = true};
  names_["dead6.test"] = DnsScript{.v4 = {"127.0.0.1"}, .v6 = {"::1"}};
  const std::string port = std::to_string(server.port());
  ExpectOutcome(Fetch("http://silent6.test:" + port + "/", {"--ip", "both"}), Outcome::kStatus);
  ExpectOutcome(Fetch("http://dead6.test:" + port + "/", {"--ip", "both"}), Outcome::kStatus);
}

TEST_F(FetchTest, TruncatedUdpAnswersAreAskedForByTcp) {
  const ScriptedServer server(Answer(kOk));
  names_["tc.test"] = DnsScript{.kind = DnsScript::Kind::kTruncatedUdp, .v4 = {"127.0.0.1"}};
  ExpectOutcome(Fetch("http://tc.test:" + std::to_string(server.port()) + "/"), Outcome::kStatus);
}

TEST_F(FetchTest, ALostQueryIsSentAgain) {
  const ScriptedServer server(Answer(kOk));
  names_["lossy.test"] = DnsScript{.v4 = {"127.0.0.1"}, .drop_first = 2};
  const Record record =
      Fetch("http://lossy.test:" + std::to_string(server.port()) + "/", {"--ip", "v4"});
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(dns_->queries(), 3);
}

TEST_F(FetchTest, ASlowAnswerOverTcpIsWaitedFor) {
  const ScriptedServer server(Answer(kOk));
  names_["slowtcp.test"] = DnsScript{.kind = DnsScript::Kind::kTruncatedUdp,
                                     .v4 = {"127.0.0.1"},
                                     .tcp_delay = std::chrono::milliseconds(2500)};
  ExpectOutcome(Fetch("http://slowtcp.test:" + std::to_string(server.port()) + "/", {"--ip", "v4"}),
                Outcome::kStatus);
}

TEST_F(FetchTest, OneHostIsResolvedOnce) {
  const ScriptedServer server(Answer(kOk));
  std::string input;
  for (int i = 0; i < 50; ++i) input += Url(server, "/" + std::to_string(i)) + "\n";
  const auto result = Run(input, {"--ip", "v4"});
  EXPECT_EQ(Records(result.out).size(), 50u);
  EXPECT_EQ(dns_->queries(), 1);
}

TEST_F(FetchTest, ConnectToReplacesTheAddressAndKeepsHostAndSni) {
  const auto context = ca_.ServerContext("elsewhere.test");
  std::string request;
  const ScriptedServer server(
      [&request](ScriptedConnection& connection) {
        if (!connection.Handshake()) return;
        request = connection.ReadRequest();
        connection.Send(kOk);
      },
      context);
  const Record record =
      Fetch("https://elsewhere.test/",
            {"--connect-to", "elsewhere.test:443:127.0.0.1:" + std::to_string(server.port())});
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_THAT(request, HasSubstr("Host: elsewhere.test\r\n"));
}

TEST_F(FetchTest, AnAnswerBeforeTheRequestCounts) {
  const ScriptedServer server([](ScriptedConnection& connection) {
    connection.Send(kOk);
    connection.ReadRequest();
  });
  ExpectOutcome(Fetch(Url(server)), Outcome::kStatus);
}

TEST_F(FetchTest, LocalhostNeedsNoResolver) {
  const ScriptedServer server(Answer(kOk));
  const std::string port = std::to_string(server.port());
  ExpectOutcome(Fetch("http://localhost:" + port + "/"), Outcome::kStatus);
  ExpectOutcome(Fetch("http://x.localhost:" + port + "/"), Outcome::kStatus);
  EXPECT_EQ(dns_->queries(), 0);
}

}  // namespace
}  // namespace fetchbench::native
