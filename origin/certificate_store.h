#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "origin/host_plan.h"

namespace fetchbench::origin {

struct FreeOpenSsl {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using CertificatePtr = std::unique_ptr<X509, FreeOpenSsl>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeOpenSsl>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeOpenSsl>;

// Issues a certificate for any host name, from a P-256 CA that is made anew in every process: its
// key is random, not derived from the seed, and never leaves memory, so trusting it outlives
// nothing. All leaves share one P-256 key: making one per host would cost more than the signature.
// The most recently used kCapacity certificates are kept. The origin's thread only.
class CertificateStore {
 public:
  static constexpr size_t kCapacity = 65'536;

  static absl::StatusOr<CertificateStore> Create();

  // The certificate of `host` (normal, or an IPv4 address), issued when it is not kept. Valid until
  // the next call; null only when OpenSSL is out of memory.
  X509* Find(std::string_view host, CertificateKind kind);

  // The private key of certificates of that kind; null only when OpenSSL is out of memory.
  EVP_PKEY* KeyOf(CertificateKind kind);
  const std::string& ca_pem() const { return ca_pem_; }
  const std::string& ca_sha256() const { return ca_sha256_; }  // of the DER, lower-case hexadecimal
  size_t size() const { return index_.size(); }

 private:
  struct Ca {
    KeyPtr key;
    CertificatePtr certificate;
    // The same in all of its leaves, made once: making them costs more than a signature.
    std::vector<ExtensionPtr> leaf_extensions;
  };
  struct Entry {
    std::string key;
    CertificatePtr certificate;
  };

  CertificateStore() = default;

  static absl::StatusOr<Ca> MakeCa(const std::string& name, EVP_PKEY* leaf_key);
  CertificatePtr Issue(std::string_view host, CertificateKind kind);

  Ca ca_;
  Ca unknown_ca_;
  KeyPtr leaf_key_;
  KeyPtr rsa_key_;  // read when first asked for
  std::string ca_pem_;
  std::string ca_sha256_;
  uint64_t next_serial_ = 1;
  std::list<Entry> recent_;  // most recently used first
  absl::flat_hash_map<std::string_view, std::list<Entry>::iterator> index_;
};

}  // namespace fetchbench::origin
