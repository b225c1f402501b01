// Every outcome of the taxonomy that the fetcher can give, by the real program.
#include <gmock/gmock.h>

#include "tests/agent/native/process_fixture.h"

namespace fetchbench::native {
namespace {

using testing::Answer;
using testing::CertificateKind;
using testing::DnsScript;
using ::testing::HasSubstr;
using testing::KeyType;
using testing::ScriptedConnection;
using testing::ScriptedServer;

class OutcomeTest : public NativeProcessTest {
 protected:
  // A fetch over TLS from a server with `context`, whose script runs after the handshake.
  Record FetchTls(std::shared_ptr<SSL_CTX> context, ScriptedServer::Script script) {
    const ScriptedServer server(
        [&script](ScriptedConnection& connection) {
          if (connection.Handshake()) script(connection);
        },
        std::move(context));
    return Fetch("https://a.test:" + std::to_string(server.port()) + "/");
  }

  Record FetchAnswer(const std::string& bytes, std::vector<std::string> more = {}) {
    const ScriptedServer server(Answer(bytes));
    return Fetch(Url(server), std::move(more));
  }
};

TEST_F(OutcomeTest, StatusTellsThePhases) {
  const Record record = FetchAnswer(kOk);
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.body_bytes, 5);
  EXPECT_GT(record.wire_bytes, 5);
  EXPECT_EQ(record.redirects, 0);
  EXPECT_EQ(record.http_version, "1.1");
  EXPECT_EQ(record.tls_version, "");
  EXPECT_THAT(record.remote_address, HasSubstr("127.0.0.1:"));
  EXPECT_GE(record.dns_us, 0);
  EXPECT_GE(record.connect_us, 0);
  EXPECT_LE(record.first_byte_us, record.duration_us);
  EXPECT_GT(record.first_byte_us, 0);
}

TEST_F(OutcomeTest, StatusOverTls) {
  const Record record = FetchTls(ca_.ServerContext("a.test"), Answer(kOk));
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.tls_version, "1.3");
  EXPECT_GT(record.tls_us, 0);
  EXPECT_GT(record.wire_bytes, 500);
}

TEST_F(OutcomeTest, StatusOverTls12AndAnAddressInTheCertificate) {
  const auto context = ca_.ServerContext("127.0.0.1");
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  const ScriptedServer server(
      [](ScriptedConnection& connection) {
        if (connection.Handshake()) Answer(kOk)(connection);
      },
      context);
  const Record record = Fetch("https://127.0.0.1:" + std::to_string(server.port()) + "/");
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.tls_version, "1.2");
}

TEST_F(OutcomeTest, EveryKindOfKeyThatServersUseIsVerified) {
  for (const KeyType key : {KeyType::kP256, KeyType::kP384, KeyType::kRsa, KeyType::kEd25519}) {
    const auto good = ca_.ServerContext("a.test", CertificateKind::kGood, key);
    ExpectOutcome(FetchTls(good, Answer(kOk)), Outcome::kStatus);
    const auto bad = ca_.ServerContext("a.test", CertificateKind::kSelfSigned, key);
    // A client may leave Ed25519 out of what it offers; it must never take a bad certificate.
    EXPECT_NE(FetchTls(bad, Answer(kOk)).outcome, Outcome::kStatus);
  }
}

TEST_F(OutcomeTest, InvalidUrl) {
  ExpectOutcome(Fetch("gopher://a.test/"), Outcome::kInvalidUrl);
  ExpectOutcome(Fetch("https://" + std::string(100'000, 'a') + "/"), Outcome::kInvalidUrl);
}

TEST_F(OutcomeTest, BlockedAddress) {
  names_["public.test"].v4 = {"10.1.2.3"};
  ExpectOutcome(Fetch("http://127.0.0.1:1/", {"--deny-private"}), Outcome::kBlockedAddress);
  ExpectOutcome(Fetch("http://2130706433/", {"--deny-private"}), Outcome::kBlockedAddress);
  ExpectOutcome(Fetch("http://localhost/", {"--deny-private"}), Outcome::kBlockedAddress);
  ExpectOutcome(Fetch("http://public.test/", {"--deny-private"}), Outcome::kBlockedAddress);
}

TEST_F(OutcomeTest, DnsNotFound) {
  names_["empty.test"].v4 = {};
  ExpectOutcome(Fetch("http://nxdomain.test/"), Outcome::kDnsNotFound);
  ExpectOutcome(Fetch("http://empty.test/"), Outcome::kDnsNotFound);
  ExpectOutcome(Fetch("http://empty.test/", {"--ip", "both"}), Outcome::kDnsNotFound);
}

TEST_F(OutcomeTest, DnsFailure) {
  names_["servfail.test"].kind = DnsScript::Kind::kServfail;
  names_["refused.test"].kind = DnsScript::Kind::kRefused;
  names_["garbage.test"].kind = DnsScript::Kind::kGarbage;
  for (const char* host : {"servfail.test", "refused.test", "garbage.test"}) {
    ExpectOutcome(Fetch(std::string("http://") + host + "/"), Outcome::kDnsFailure);
  }
}

TEST_F(OutcomeTest, AResolverThatIsNotThereIsADnsFailure) {
  ExpectOutcome(Fetch("http://a.test/", {"--resolver", "127.0.0.1:1"}), Outcome::kDnsFailure);
}

TEST_F(OutcomeTest, DnsTimeoutIsTheDeadlineItself) {
  names_["silent.test"].kind = DnsScript::Kind::kSilent;
  const Record record = Fetch("http://silent.test/", {"--timeout", "0.7"});
  ExpectOutcome(record, Outcome::kDnsTimeout);
  EXPECT_GE(record.duration_us, 699'000);
}

TEST_F(OutcomeTest, ConnectRefused) {
  ExpectOutcome(Fetch("http://a.test:1/"), Outcome::kConnectRefused);
}

TEST_F(OutcomeTest, ConnectUnreachable) {
  // Multicast cannot be connected to, on any machine.
  ExpectOutcome(Fetch("http://224.0.0.1:80/"), Outcome::kConnectUnreachable);
}

TEST_F(OutcomeTest, ConnectionResetAtEachPhase) {
  const auto reset = [](ScriptedConnection& connection) { connection.Reset(); };
  const auto close = [](ScriptedConnection&) {};
  const auto reset_later = [](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Reset();
  };
  for (const ScriptedServer::Script& script : std::vector<ScriptedServer::Script>{
           reset, close, reset_later, Answer(""), Answer("HTTP/1.1 200 OK\r\nContent-")}) {
    const ScriptedServer server(script);
    ExpectOutcome(Fetch(Url(server)), Outcome::kConnectionReset);
  }
  const ScriptedServer tls([](ScriptedConnection& connection) { connection.Reset(); });
  ExpectOutcome(Fetch("https://a.test:" + std::to_string(tls.port()) + "/"),
                Outcome::kConnectionReset);
}

TEST_F(OutcomeTest, TlsHandshake) {
  const ScriptedServer plain([](ScriptedConnection& connection) {
    connection.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    connection.WaitForClose();
  });
  ExpectOutcome(Fetch("https://a.test:" + std::to_string(plain.port()) + "/"),
                Outcome::kTlsHandshake);
  const auto picky = ca_.ServerContext("a.test");
  SSL_CTX_set_verify(picky.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const Record record = FetchTls(picky, Answer(kOk));
  ExpectOutcome(record, Outcome::kTlsHandshake);
  EXPECT_THAT(record.error, HasSubstr("alert"));
}

TEST_F(OutcomeTest, TlsCertificate) {
  for (const CertificateKind kind : {CertificateKind::kExpired, CertificateKind::kNotYetValid,
                                     CertificateKind::kSelfSigned, CertificateKind::kOtherCa}) {
    const Record record = FetchTls(ca_.ServerContext("a.test", kind), Answer(kOk));
    ExpectOutcome(record, Outcome::kTlsCertificate);
    EXPECT_FALSE(record.error.empty());
  }
  const Record record = FetchTls(ca_.ServerContext("b.test"), Answer(kOk));
  ExpectOutcome(record, Outcome::kTlsCertificate);
  EXPECT_THAT(record.error, HasSubstr("ostname mismatch"));
}

TEST_F(OutcomeTest, TimeoutBeforeHeaders) {
  const auto wait = [](ScriptedConnection& connection) { connection.WaitForClose(); };
  const ScriptedServer silent(wait);
  const Record record = Fetch(Url(silent), {"--timeout", "0.3"});
  ExpectOutcome(record, Outcome::kTimeoutBeforeHeaders);
  EXPECT_THAT(record.error, HasSubstr("waiting for the headers"));
  ExpectOutcome(
      Fetch("https://a.test:" + std::to_string(silent.port()) + "/", {"--timeout", "0.3"}),
      Outcome::kTimeoutBeforeHeaders);
}

TEST_F(OutcomeTest, TimeoutInBodyKeepsStatusAndBytes) {
  const ScriptedServer server([](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
    connection.WaitForClose();
  });
  const Record record = Fetch(Url(server), {"--timeout", "0.5"});
  ExpectOutcome(record, Outcome::kTimeoutInBody);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.body_bytes, 5);
}

TEST_F(OutcomeTest, AnEndlessFastBodyEndsAtTheCapOrTheDeadline) {
  const auto flood = [](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 1'000'000 && connection.SendRaw(block); ++i) {
    }
  };
  const ScriptedServer server(flood);
  const Record capped = Fetch(Url(server), {"--max-body", "10000000"});
  ExpectOutcome(capped, Outcome::kBodyTooLarge);
  EXPECT_GT(capped.body_bytes, 10'000'000);
  ExpectOutcome(Fetch(Url(server), {"--timeout", "0.5", "--max-body", "1000000000000"}),
                Outcome::kTimeoutInBody);
}

TEST_F(OutcomeTest, ResponseMalformedAndHeaderTooLarge) {
  ExpectOutcome(FetchAnswer("SSH-2.0-OpenSSH_9.2\r\n"), Outcome::kResponseMalformed);
  ExpectOutcome(FetchAnswer("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x')),
                Outcome::kHeaderTooLarge);
}

TEST_F(OutcomeTest, BodyTruncated) {
  const Record record = FetchAnswer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
  ExpectOutcome(record, Outcome::kBodyTruncated);
  EXPECT_EQ(record.body_bytes, 5);
  ExpectOutcome(FetchTls(ca_.ServerContext("a.test"), Answer("HTTP/1.1 200 OK\r\n\r\nhello")),
                Outcome::kBodyTruncated);
}

TEST_F(OutcomeTest, CloseNotifyEndsABodyOfUnknownLength) {
  const Record record = FetchTls(ca_.ServerContext("a.test"), [](ScriptedConnection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\n\r\nhello");
    connection.CloseNotify();
  });
  ExpectOutcome(record, Outcome::kStatus);
  EXPECT_EQ(record.body_bytes, 5);
}

TEST_F(OutcomeTest, RedirectLimitKeepsTheStatus) {
  const ScriptedServer server(Answer("HTTP/1.1 302 x\r\nLocation: /\r\nConnection: close\r\n\r\n"));
  const Record record = Fetch(Url(server));
  ExpectOutcome(record, Outcome::kRedirectLimit);
  EXPECT_EQ(record.status, 302);
  EXPECT_EQ(record.redirects, 10);
  EXPECT_EQ(server.connections(), 11);
}

TEST_F(OutcomeTest, RedirectInvalid) {
  const Record record =
      FetchAnswer("HTTP/1.1 302 x\r\nLocation: ftp://a.test/\r\nContent-Length: 0\r\n\r\n");
  ExpectOutcome(record, Outcome::kRedirectInvalid);
  EXPECT_EQ(record.status, 302);
  EXPECT_THAT(record.error, HasSubstr("ftp://a.test/"));
}

}  // namespace
}  // namespace fetchbench::native
