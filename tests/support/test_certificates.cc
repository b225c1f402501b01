#include "tests/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>

namespace fetchbench::testing {
namespace {

constexpr long kDay = 24 * 60 * 60;  // NOLINT(google-runtime-int): X509_gmtime_adj takes it

constexpr int kRsaBits = 2048;

int LibraryType(KeyType type) {
  switch (type) {
    case KeyType::kRsa:
      return EVP_PKEY_RSA;
    case KeyType::kEd25519:
      return EVP_PKEY_ED25519;
    case KeyType::kP256:
    case KeyType::kP384:
      return EVP_PKEY_EC;
  }
  return EVP_PKEY_NONE;
}

EVP_PKEY* NewKey(KeyType type) {
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_id(LibraryType(type), nullptr);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_keygen_init(context);
  if (type == KeyType::kRsa) EVP_PKEY_CTX_set_rsa_keygen_bits(context, kRsaBits);
  if (type == KeyType::kP256 || type == KeyType::kP384) {
    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(
        context, type == KeyType::kP256 ? NID_X9_62_prime256v1 : NID_secp384r1);
  }
  EVP_PKEY_keygen(context, &key);
  EVP_PKEY_CTX_free(context);
  return key;
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

bool LooksLikeAddress(const std::string& name) {
  return name.find(':') != std::string::npos ||
         name.find_first_not_of("0123456789.") == std::string::npos;
}

X509* NewCertificate(const std::string& common_name, EVP_PKEY* key) {
  static std::atomic<long> serial{1};
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * kDay);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

struct TestCa::Pair {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  ~Pair() {
    EVP_PKEY_free(key);
    X509_free(certificate);
  }
};

TestCa::TestCa() : ca_(std::make_unique<Pair>()) {
  ca_->key = NewKey(KeyType::kP256);
  ca_->certificate = NewCertificate("fetchbench test CA", ca_->key);
  X509_set_issuer_name(ca_->certificate, X509_get_subject_name(ca_->certificate));
  AddExtension(ca_->certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(ca_->certificate, ca_->key, EVP_sha256());
}

TestCa::~TestCa() = default;

std::string TestCa::Pem() const {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, ca_->certificate);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

std::shared_ptr<SSL_CTX> TestCa::ServerContext(const std::string& name, CertificateKind kind,
                                               KeyType key) {
  Pair leaf;
  leaf.key = NewKey(key);
  leaf.certificate = NewCertificate("leaf", leaf.key);
  AddExtension(leaf.certificate, NID_subject_alt_name,
               (LooksLikeAddress(name) ? "IP:" : "DNS:") + name);
  if (kind == CertificateKind::kExpired) {
    X509_gmtime_adj(X509_getm_notBefore(leaf.certificate), -10 * kDay);
    X509_gmtime_adj(X509_getm_notAfter(leaf.certificate), -kDay);
  }
  if (kind == CertificateKind::kNotYetValid) {
    X509_gmtime_adj(X509_getm_notBefore(leaf.certificate), 10 * kDay);
  }
  const TestCa other;
  const Pair& issuer = kind == CertificateKind::kSelfSigned ? leaf
                       : kind == CertificateKind::kOtherCa  ? *other.ca_
                                                            : *ca_;
  X509_set_issuer_name(leaf.certificate, X509_get_subject_name(issuer.certificate));
  X509_sign(leaf.certificate, issuer.key, EVP_sha256());
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_use_certificate(context.get(), leaf.certificate);
  SSL_CTX_use_PrivateKey(context.get(), leaf.key);
  return context;
}

std::shared_ptr<SSL_CTX> TestCa::ClientContext() const {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca_->certificate);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

}  // namespace fetchbench::testing
