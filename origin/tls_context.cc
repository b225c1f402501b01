#include "origin/tls_context.h"

#include <openssl/err.h>
#include <openssl/tls1.h>

#include <string_view>

#include "origin/planner.h"

namespace fetchbench::origin {
namespace {

// Ours alone in this process, so index 0 (which SSL_set_app_data uses) is free for it.
HelloListener* ListenerOf(SSL* ssl) { return static_cast<HelloListener*>(SSL_get_app_data(ssl)); }

bool IsHostName(std::string_view name) {
  constexpr size_t kMaxHost = 253;
  if (name.empty() || name.size() > kMaxHost) return false;
  for (const char c : name) {
    const bool ok =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (!ok) return false;
  }
  return true;
}

// The server_name extension: a list's length, a name's type (0) and length, the name (RFC 6066).
std::string ServerName(SSL* ssl) {
  const unsigned char* data = nullptr;
  size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) != 1) return {};
  constexpr size_t kNameAt = 5;
  if (size < kNameAt || data[2] != TLSEXT_NAMETYPE_host_name) return {};
  const size_t length = static_cast<size_t>(data[3]) << 8 | data[4];
  if (kNameAt + length > size) return {};
  std::string name = NormalHost({reinterpret_cast<const char*>(data + kNameAt), length});
  return IsHostName(name) ? name : std::string();
}

int OnClientHello(SSL* ssl, int* alert, void* /*argument*/) {
  HelloListener* listener = ListenerOf(ssl);
  if (listener == nullptr) return SSL_CLIENT_HELLO_ERROR;
  switch (listener->OnClientHello(ServerName(ssl))) {
    case HelloListener::Next::kGoOn:
      return SSL_CLIENT_HELLO_SUCCESS;
    case HelloListener::Next::kPause:
      return SSL_CLIENT_HELLO_RETRY;
    case HelloListener::Next::kFail:
      break;
  }
  *alert = SSL_AD_INTERNAL_ERROR;
  return SSL_CLIENT_HELLO_ERROR;
}

}  // namespace

absl::StatusOr<SslContextPtr> MakeServerContext() {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return absl::InternalError("OpenSSL: no server context");
  SSL_CTX* c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  constexpr std::string_view kId = "fetchbench";
  SSL_CTX_set_session_id_context(c, reinterpret_cast<const unsigned char*>(kId.data()),
                                 static_cast<unsigned int>(kId.size()));
  SSL_CTX_set_num_tickets(c, 1);
  SSL_CTX_set_read_ahead(c, 1);
  // AES-128 first, as the large networks have it: SHA-256 is half of SHA-384's price.
  SSL_CTX_set_options(
      c, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_ciphersuites(
      c, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  if (SSL_CTX_set1_groups_list(c, "X25519:P-256:P-384") != 1) {
    return absl::InternalError("OpenSSL: the groups X25519 and P-256 are not available");
  }
  SSL_CTX_set_client_hello_cb(c, OnClientHello, nullptr);
  return context;
}

void ListenToHello(SSL* ssl, HelloListener* listener) { SSL_set_app_data(ssl, listener); }

bool PresentCertificate(SSL* ssl, CertificateStore& store, const std::string& host,
                        CertificateKind kind) {
  X509* certificate = store.Find(host, kind);
  return certificate != nullptr && SSL_use_certificate(ssl, certificate) == 1 &&
         SSL_use_PrivateKey(ssl, store.KeyOf(kind)) == 1;
}

void LimitVersions(SSL* ssl, TlsVersions versions) {
  if (versions == TlsVersions::kOnly12) SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
  if (versions == TlsVersions::kOnly13) SSL_set_min_proto_version(ssl, TLS1_3_VERSION);
}

}  // namespace fetchbench::origin
