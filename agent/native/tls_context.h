#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/native/url.h"
#include "common/tls_stream.h"

namespace fetchbench::native {

// The roots that servers are verified against: the system's, plus a file. Loaded once a process and
// shared by all workers; the TLS library locks it inside.
class TrustStore {
 public:
  // An empty `ca_file` means the system's roots alone. NotFound or InvalidArgument names the file.
  static absl::StatusOr<TrustStore> Load(const std::string& ca_file);

  X509_STORE* get() const { return store_.get(); }

 private:
  explicit TrustStore(std::shared_ptr<X509_STORE> store) : store_(std::move(store)) {}

  std::shared_ptr<X509_STORE> store_;
};

// One worker's client context: TLS 1.2 and 1.3, verification on, no session kept.
class TlsContext {
 public:
  static absl::StatusOr<TlsContext> Create(const TrustStore& trust);

  // A session that asks for and verifies the host of `url`.
  TlsSession NewSession(const Url& url) const;

 private:
  explicit TlsContext(std::shared_ptr<SSL_CTX> context) : context_(std::move(context)) {}

  std::shared_ptr<SSL_CTX> context_;
};

// "1.3" of an established session.
std::string TlsVersion(const TlsSession& session);

std::string TlsLibraryName();
std::string TlsGroups();

}  // namespace fetchbench::native
