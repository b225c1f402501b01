#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/origin/running_origin.h"

namespace fetchbench::origin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TlsServerTest, ACertificateVerifiesForEveryNameInBothVersions) {
  RunningOrigin origin;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const char* host : {"a.test", "xn--bcher-kva.example", "a_b.deep.sub.domain.co.uk"}) {
      Client client(kServing, origin->https_port());
      ASSERT_TRUE(client.StartTls(origin->ca_pem(), host, version)) << client.tls_error();
      EXPECT_EQ(SSL_version(client.ssl()), version);
      client.Send(GetRequest(host));
      EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200 OK\r\n"));
    }
  }
}

TEST(TlsServerTest, NamesOfUpTo253CharactersGetACertificate) {
  RunningOrigin origin;
  std::string host;
  while (host.size() < 240) host += "abcdefghi.";
  host += "test";
  Client client(kServing, origin->https_port());
  EXPECT_TRUE(client.StartTls(origin->ca_pem(), host)) << client.tls_error();
}

TEST(TlsServerTest, AnotherOriginsCertificatesDoNotVerify) {
  RunningOrigin origin;
  RunningOrigin other;
  Client client(kServing, origin->https_port());
  EXPECT_FALSE(client.StartTls(other->ca_pem(), "a.test"));
  EXPECT_THAT(client.tls_error(), HasSubstr("unable to get local issuer"));
}

TEST(TlsServerTest, ASessionTicketIsOffered) {
  RunningOrigin origin;
  Client client(kServing, origin->https_port());
  ASSERT_TRUE(client.StartTls(origin->ca_pem(), "a.test", TLS1_3_VERSION)) << client.tls_error();
  client.Send(GetRequest("a.test"));
  client.ReadResponse();
  SSL_SESSION* session = SSL_get1_session(client.ssl());
  EXPECT_EQ(SSL_SESSION_has_ticket(session), 1);
  SSL_SESSION_free(session);
}

TEST(TlsServerTest, AnExpiredCertificateIsExpired) {
  RunningOrigin origin;
  Client client(kServing, origin->https_port());
  EXPECT_FALSE(client.StartTls(origin->ca_pem(), "tls-expired-certificate.conformance.test"));
  EXPECT_THAT(client.tls_error(), HasSubstr("expired"));
}

TEST(TlsServerTest, AClientWithoutServerNameStillGetsAHandshake) {
  RunningOrigin origin;
  Client client(kServing, origin->https_port());
  ASSERT_TRUE(client.StartTls(origin->ca_pem(), "")) << client.tls_error();
  client.Send(GetRequest("a.test"));
  EXPECT_THAT(client.ReadResponse(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

// Every host of the hostile profile does on the wire what its plan says.
TEST(TlsServerTest, HandshakesFollowTheHostsPlan) {
  RunningOrigin origin("hostile");
  int checked = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example.net";
    const TlsPlan plan = origin->world().Look(host).plan.tls;
    const bool plain = plan == TlsPlan{.delay = plan.delay, .close_notify = plan.close_notify};
    if (plan.delay > Micros(50'000) || plain || plan.breaks == TlsBreak::kSilent) continue;
    ++checked;
    Client client(kServing, origin->https_port());
    const bool ok = client.StartTls(origin->ca_pem(), host);
    if (plan.breaks == TlsBreak::kNone && plan.certificate == CertificateKind::kGood) {
      ASSERT_TRUE(ok) << client.tls_error();
      EXPECT_EQ(SSL_version(client.ssl()),
                plan.versions == TlsVersions::kOnly12 ? TLS1_2_VERSION : TLS1_3_VERSION);
      continue;
    }
    ASSERT_FALSE(ok) << host;
    if (plan.breaks == TlsBreak::kReset) {
      EXPECT_EQ(client.tls_error(), "reset");
    } else if (plan.breaks == TlsBreak::kAlert) {
      EXPECT_THAT(client.tls_error(), HasSubstr("handshake"));
    }
    if (plan.breaks != TlsBreak::kNone) continue;
    switch (plan.certificate) {
      case CertificateKind::kExpired:
        EXPECT_THAT(client.tls_error(), HasSubstr("expired"));
        break;
      case CertificateKind::kWrongHost:
        EXPECT_THAT(client.tls_error(), HasSubstr("mismatch"));
        break;
      case CertificateKind::kSelfSigned:
        EXPECT_THAT(client.tls_error(), HasSubstr("self-signed"));
        break;
      case CertificateKind::kUnknownCa:
        EXPECT_THAT(client.tls_error(), HasSubstr("local issuer"));
        break;
      default:
        break;
    }
  }
  EXPECT_GT(checked, 50);
}

}  // namespace
}  // namespace fetchbench::origin
