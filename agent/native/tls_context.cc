#include "agent/native/tls_context.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <string_view>

#include "absl/status/status.h"
#include "agent/native/openssl_context.h"

namespace fetchbench::native {
namespace {

// One key share is sent, for the first group: the cheapest one that practically every server takes.
// A server without it asks again, for one of the others.
constexpr const char* kGroups = "X25519:P-256:P-384";

// HTTP/1.1 alone, in the ALPN wire format.
constexpr std::array<unsigned char, 9> kAlpn = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

std::string LastError() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace

absl::StatusOr<TrustStore> TrustStore::Load(const std::string& ca_file) {
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  if (store == nullptr) return absl::ResourceExhaustedError("cannot allocate a trust store");
  // The system's hashed folder is read as roots are needed, not at start. A system without roots
  // is no error: then only --ca-file counts.
  X509_STORE_set_default_paths(store.get());
#ifdef FETCHBENCH_CA_DIRECTORY
  X509_STORE_load_locations(store.get(), nullptr, FETCHBENCH_CA_DIRECTORY);
#endif
  ERR_clear_error();
  if (!ca_file.empty() && X509_STORE_load_locations(store.get(), ca_file.c_str(), nullptr) != 1) {
    return absl::InvalidArgumentError(fmt::format(
        "--ca-file {}: cannot read PEM certificates from it ({})", ca_file, LastError()));
  }
  return TrustStore(store);
}

absl::StatusOr<TlsContext> TlsContext::Create(const TrustStore& trust) {
  const std::shared_ptr<SSL_CTX> context(NewClientContext(), SSL_CTX_free);
  if (context == nullptr) {
    return absl::InternalError(fmt::format("cannot create a TLS context ({})", LastError()));
  }
  X509_STORE_up_ref(trust.get());
  SSL_CTX_set_cert_store(context.get(), trust.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM_set_hostflags(SSL_CTX_get0_param(context.get()),
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Every host is met once: a session kept would only cost memory.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // One recv a flight instead of two a record.
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_alpn_protos(context.get(), kAlpn.data(), kAlpn.size());
  if (SSL_CTX_set1_groups_list(context.get(), kGroups) != 1) {
    return absl::InternalError(
        fmt::format("cannot offer the key-exchange groups {} ({})", kGroups, LastError()));
  }
  return TlsContext(context);
}

TlsSession TlsContext::NewSession(const Url& url) const {
  TlsSession session(context_.get());
  SSL* ssl = session.native_handle();
  if (ssl == nullptr) return session;
  if (url.literal) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), url.host.c_str());
    return session;
  }
  // The dot that makes a name absolute belongs neither into SNI (RFC 6066 section 3) nor into
  // certificates.
  std::string name = url.host;
  if (name.ends_with('.')) name.pop_back();
  SSL_set_tlsext_host_name(ssl, name.c_str());
  SSL_set1_host(ssl, name.c_str());
  return session;
}

std::string TlsVersion(const TlsSession& session) {
  std::string_view version = SSL_get_version(session.native_handle());  // "TLSv1.3"
  if (version.starts_with("TLSv")) version.remove_prefix(4);
  return std::string(version);
}

std::string TlsLibraryName() { return OpenSSL_version(OPENSSL_VERSION); }

std::string TlsGroups() { return kGroups; }

}  // namespace fetchbench::native
