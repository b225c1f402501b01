#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "origin/certificate_store.h"
#include "origin/host_plan.h"

namespace fetchbench::origin {

// What a handshake asks for once its ClientHello is known. One per connection, and it must outlive
// the SSL that it is attached to.
class HelloListener {
 public:
  enum class Next { kGoOn, kPause, kFail };

  virtual ~HelloListener() = default;
  // `server_name` is empty when the client sent none. kPause: SSL_accept returns, SSL_want() is
  // SSL_CLIENT_HELLO_CB, and the next SSL_accept asks again.
  virtual Next OnClientHello(const std::string& server_name) = 0;
};

struct FreeSslContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeSslContext>;

// A server context without certificates: TLS 1.2 and 1.3, P-256 and X25519, session tickets (no
// session cache), read-ahead; connections get theirs from their HelloListener.
absl::StatusOr<SslContextPtr> MakeServerContext();

// Before SSL_accept; `listener` stays the caller's.
void ListenToHello(SSL* ssl, HelloListener* listener);

// To be called by OnClientHello. False: OpenSSL refused, which fails the handshake.
bool PresentCertificate(SSL* ssl, CertificateStore& store, const std::string& host,
                        CertificateKind kind);
void LimitVersions(SSL* ssl, TlsVersions versions);

}  // namespace fetchbench::origin
