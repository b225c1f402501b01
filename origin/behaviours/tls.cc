// Certificates, versions, handshakes that break and closes that are not clean. All fetched by
// https.
#include <openssl/ssl.h>

#include <array>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/steps.h"
#include "origin/certificate_store.h"

namespace fetchbench::origin {
namespace {

using namespace std::literals;  // NOLINT(google-build-using-namespace): ""sv keeps NULs

// Records as they go over the wire: type, version, length, content.
constexpr std::string_view kAlertUnrecognizedName = "\x15\x03\x03\x00\x02\x02\x70"sv;

// Handshake records with a ServerHello: version, 32 random bytes, no session, a suite that every
// ClientHello offers (ECDHE_ECDSA with AES128), no compression.
constexpr std::string_view kHelloWithoutRenegotiationInfo =
    "\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03"
    "0123456789abcdef0123456789abcdef"
    "\x00\xc0\x2b\x00"sv;
constexpr std::string_view kHelloOfTls12 =
    "\x16\x03\x03\x00\x31\x02\x00\x00\x2d\x03\x03"
    "0123456789abcdef0123456789abcdef"
    "\x00\xc0\x2b\x00\x00\x05\xff\x01\x00\x01\x00"sv;
constexpr std::string_view kHelloOfTls11 =
    "\x16\x03\x02\x00\x31\x02\x00\x00\x2d\x03\x02"
    "0123456789abcdef0123456789abcdef"
    "\x00\xc0\x09\x00\x00\x05\xff\x01\x00\x01\x00"sv;

constexpr std::array kCanned = {
    Canned{.name = "tls-close-without-notify", .after = After::kClose},
    Canned{.name = "tls-close-without-notify-no-length", .length = false, .after = After::kClose},
    Canned{.name = "tls-close-with-notify-no-length", .length = false, .after = After::kClose},
};

Task<> ServeByteRecords(Exchange exchange) {
  co_await Drip(exchange, std::string(kHelloHead) + std::string(kHello), Micros(0));
  co_await Hold(exchange);
}

bool UseRsaExchange(SSL* ssl, CertificateStore&) {
  return SSL_set_cipher_list(ssl, "AES128-GCM-SHA256:AES256-GCM-SHA384") == 1;
}

bool UseDhe(SSL* ssl, CertificateStore&) {
  return SSL_set_dh_auto(ssl, 1) == 1 &&
         SSL_set_cipher_list(ssl, "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384") == 1;
}

bool UseCertificateFor(SSL* ssl, CertificateStore& store, std::string_view name) {
  X509* certificate = store.Find(name, CertificateKind::kGood);
  return certificate != nullptr && SSL_use_certificate(ssl, certificate) == 1;
}

bool UseWildcard(SSL* ssl, CertificateStore& store) {
  return UseCertificateFor(ssl, store, "*.conformance.test");
}

bool UsePartialWildcard(SSL* ssl, CertificateStore& store) {
  return UseCertificateFor(ssl, store, "tls-*.conformance.test");
}

bool WantClientCertificate(SSL* ssl, CertificateStore&) {
  SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  return true;
}

bool RequireClientCertificate(SSL* ssl, CertificateStore&) {
  SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return true;
}

bool SendManyTickets(SSL* ssl, CertificateStore&) {
  constexpr size_t kTickets = 16;
  return SSL_set_num_tickets(ssl, kTickets) == 1;
}

constexpr std::array kCertificates = {
    ConformanceHost{.name = "tls-ok", .serve = ServeHello},
    ConformanceHost{.name = "tls-expired-certificate",
                    .tls = {.certificate = CertificateKind::kExpired},
                    .serve = ServeHello},
    ConformanceHost{.name = "tls-not-yet-valid-certificate",
                    .tls = {.certificate = CertificateKind::kNotYetValid},
                    .serve = ServeHello},
    ConformanceHost{.name = "tls-wrong-host-certificate",
                    .tls = {.certificate = CertificateKind::kWrongHost},
                    .serve = ServeHello},
    ConformanceHost{.name = "tls-self-signed-certificate",
                    .tls = {.certificate = CertificateKind::kSelfSigned},
                    .serve = ServeHello},
    ConformanceHost{.name = "tls-unknown-authority",
                    .tls = {.certificate = CertificateKind::kUnknownCa},
                    .serve = ServeHello},
    ConformanceHost{.name = "tls-common-name-only",
                    .tls = {.certificate = CertificateKind::kCommonNameOnly},
                    .serve = ServeHello},
    ConformanceHost{
        .name = "tls-wildcard-certificate", .serve = ServeHello, .prepare_tls = UseWildcard},
    ConformanceHost{.name = "tls-partial-wildcard-certificate",
                    .serve = ServeHello,
                    .prepare_tls = UsePartialWildcard},
    ConformanceHost{.name = "tls-client-certificate-wanted",
                    .serve = ServeHello,
                    .prepare_tls = WantClientCertificate},
    ConformanceHost{.name = "tls-client-certificate-required",
                    .tls = {.versions = TlsVersions::kOnly12},
                    .serve = ServeHello,
                    .prepare_tls = RequireClientCertificate},
};

constexpr std::array kHandshakes = {
    ConformanceHost{
        .name = "tls-12-only", .tls = {.versions = TlsVersions::kOnly12}, .serve = ServeHello},
    ConformanceHost{
        .name = "tls-13-only", .tls = {.versions = TlsVersions::kOnly13}, .serve = ServeHello},
    ConformanceHost{.name = "tls-old-versions-only",
                    .tls = {.breaks = TlsBreak::kClose},
                    .hello_answer = kHelloOfTls11},
    ConformanceHost{.name = "tls-rsa-key-exchange-only",
                    .tls = {.certificate = CertificateKind::kRsa, .versions = TlsVersions::kOnly12},
                    .serve = ServeHello,
                    .prepare_tls = UseRsaExchange},
    ConformanceHost{.name = "tls-dhe-only",
                    .tls = {.certificate = CertificateKind::kRsa, .versions = TlsVersions::kOnly12},
                    .serve = ServeHello,
                    .prepare_tls = UseDhe},
    ConformanceHost{.name = "tls-no-secure-renegotiation",
                    .tls = {.breaks = TlsBreak::kClose},
                    .hello_answer = kHelloWithoutRenegotiationInfo},
    ConformanceHost{.name = "tls-unrecognized-name",
                    .tls = {.breaks = TlsBreak::kClose},
                    .hello_answer = kAlertUnrecognizedName},
    ConformanceHost{.name = "tls-alert", .tls = {.breaks = TlsBreak::kAlert}},
    ConformanceHost{.name = "tls-garbage", .tls = {.breaks = TlsBreak::kGarbage}},
    ConformanceHost{.name = "tls-http-answer",
                    .tls = {.breaks = TlsBreak::kClose},
                    .hello_answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
    ConformanceHost{.name = "tls-silent", .tls = {.breaks = TlsBreak::kSilent}},
    ConformanceHost{.name = "tls-silent-half-way",
                    .tls = {.breaks = TlsBreak::kSilent},
                    .hello_answer = kHelloOfTls12},
    ConformanceHost{.name = "tls-close-in-handshake", .tls = {.breaks = TlsBreak::kClose}},
    ConformanceHost{.name = "tls-reset-in-handshake", .tls = {.breaks = TlsBreak::kReset}},
    ConformanceHost{.name = "tls-reset-after-server-hello",
                    .tls = {.breaks = TlsBreak::kResetAfterFlight}},
};

constexpr std::array kAfterHandshake = {
    ConformanceHost{.name = "tls-many-session-tickets",
                    .tls = {.versions = TlsVersions::kOnly13},
                    .serve = ServeHello,
                    .prepare_tls = SendManyTickets},
    ConformanceHost{.name = "tls-one-byte-records", .serve = ServeByteRecords},
    ConformanceHost{.name = "tls-reset-in-body", .serve = ResetInBody},
    ConformanceHost{.name = "tls-never-answers", .serve = Hold},
    ConformanceHost{.name = "tls-drips-body", .serve = DripBody},
};

// Canned answers on connections that end in a bare FIN, but for the one that has close_notify.
constexpr auto WithCloses() {
  auto hosts = CannedHosts<kCanned>();
  for (ConformanceHost& host : hosts) {
    host.tls.close_notify = host.name.starts_with("tls-close-with-notify");
  }
  return hosts;
}

constexpr auto kTable = Join(Join(kCertificates, kHandshakes), Join(kAfterHandshake, WithCloses()));

}  // namespace

std::span<const ConformanceHost> TlsBehaviours() { return kTable; }

}  // namespace fetchbench::origin
