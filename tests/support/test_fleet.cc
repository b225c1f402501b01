#include "tests/support/test_fleet.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fetchbench::testing {
namespace {

constexpr long kDay = 24 * 60 * 60;  // NOLINT(google-runtime-int): X509_gmtime_adj takes it
constexpr int kSerialBits = 100;

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

EVP_PKEY* NewKey() { return EVP_EC_gen("P-256"); }

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  if (extension == nullptr) std::abort();
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(EVP_PKEY* key, const char* name, int from_days, int days) {
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  BIGNUM* serial = BN_new();
  BN_rand(serial, kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
  BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate));
  BN_free(serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_days * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDay);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

std::string SerialOf(X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get_serialNumber(certificate), nullptr);
  char* hex = BN_bn2hex(number);
  std::string text = hex;
  OPENSSL_free(hex);
  BN_free(number);
  const size_t first = text.find_first_not_of('0');
  return text.substr(first);
}

// By renaming, as bin/pki does.
template <typename Writer>
void WriteFile(const std::string& path, const Writer& writer) {
  const std::string made = path + ".new";
  FILE* file = fopen(made.c_str(), "w");
  if (file == nullptr) std::abort();
  chmod(made.c_str(), 0600);
  writer(file);
  fclose(file);
  std::filesystem::rename(made, path);
}

}  // namespace

struct TestFleet::Pair {
  KeyPtr key{NewKey(), EVP_PKEY_free};
  X509Ptr certificate{NewCertificate(key.get(), "test fleet CA", -30, 300), X509_free};
};

TestFleet::TestFleet() : ca_(std::make_unique<Pair>()) {
  X509* certificate = ca_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, ca_->key.get(), EVP_sha256());
}

TestFleet::~TestFleet() = default;

std::string TestFleet::Write(const std::string& folder, const FleetCertificate& wanted) const {
  std::filesystem::create_directories(folder);
  const KeyPtr key(NewKey(), EVP_PKEY_free);
  WriteFile(folder + "/tls.key", [&](FILE* file) {
    PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  WriteFile(folder + "/ca.crt", [&](FILE* file) { PEM_write_X509(file, ca_->certificate.get()); });
  return Renew(folder, wanted);
}

std::string TestFleet::Renew(const std::string& folder, const FleetCertificate& wanted) const {
  FILE* file = fopen((folder + "/tls.key").c_str(), "r");
  if (file == nullptr) std::abort();
  const KeyPtr key(PEM_read_PrivateKey(file, nullptr, nullptr, nullptr), EVP_PKEY_free);
  fclose(file);
  const X509Ptr leaf(NewCertificate(key.get(), "leaf", wanted.from_days, wanted.days), X509_free);
  AddExtension(leaf.get(), NID_basic_constraints, "critical,CA:FALSE");
  if (!wanted.usage.empty()) AddExtension(leaf.get(), NID_ext_key_usage, wanted.usage);
  std::string names;
  for (size_t begin = 0; begin < wanted.uri.size();) {
    const size_t end = std::min(wanted.uri.find(',', begin), wanted.uri.size());
    names += (names.empty() ? "URI:" : ",URI:") + wanted.uri.substr(begin, end - begin);
    begin = end + 1;
  }
  if (!names.empty()) AddExtension(leaf.get(), NID_subject_alt_name, names);
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(ca_->certificate.get()));
  X509_sign(leaf.get(), ca_->key.get(), EVP_sha256());
  WriteFile(folder + "/tls.crt", [&](FILE* out) { PEM_write_X509(out, leaf.get()); });
  return SerialOf(leaf.get());
}

}  // namespace fetchbench::testing
