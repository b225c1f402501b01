// EC_KEY is deprecated: see MakeLeafKey.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "origin/certificate_store.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/ip/address_v4.hpp>
#include <ctime>

#include "origin/known_rsa_key.h"

namespace fetchbench::origin {
namespace {

constexpr std::time_t kDay = std::time_t{24} * 3600;
constexpr std::string_view kWrongHost = "wrong-host.invalid";
constexpr size_t kMaxCommonName = 64;
constexpr const char* kLeafUsage = "critical,digitalSignature";
constexpr const char* kRsaUsage = "critical,digitalSignature,keyEncipherment";

template <typename T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* object) const { kFree(object); }
};
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES, GENERAL_NAMES_free>>;
using BioPtr = std::unique_ptr<BIO, Deleter<BIO, BIO_free_all>>;

// Made through EC_KEY, because with a key from EVP_EC_gen OpenSSL 3 encodes and decodes the key
// anew for every certificate: 250 us, 20 times what issuing costs otherwise.
KeyPtr MakeLeafKey() {
  using EcKeyPtr = std::unique_ptr<EC_KEY, Deleter<EC_KEY, EC_KEY_free>>;
  const EcKeyPtr ec(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1));
  KeyPtr key(EVP_PKEY_new());
  if (ec == nullptr || key == nullptr || EC_KEY_generate_key(ec.get()) != 1 ||
      EVP_PKEY_set1_EC_KEY(key.get(), ec.get()) != 1) {
    return nullptr;
  }
  return key;
}

// Null when OpenSSL is out of memory.
ExtensionPtr MakeExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  return ExtensionPtr(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
}

bool AddExtension(X509* certificate, int nid, const char* value) {
  const ExtensionPtr extension = MakeExtension(certificate, certificate, nid, value);
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// What every leaf says but for its name. `issuer` is the CA's certificate.
std::vector<ExtensionPtr> MakeLeafExtensions(X509* issuer, EVP_PKEY* leaf_key, const char* usage) {
  const CertificatePtr model(X509_new());
  std::vector<ExtensionPtr> extensions;
  if (model == nullptr) return extensions;
  X509_set_pubkey(model.get(), leaf_key);
  X509_set_issuer_name(model.get(), X509_get_subject_name(issuer));
  const auto add = [&](int nid, const char* value) {
    extensions.push_back(MakeExtension(model.get(), issuer, nid, value));
  };
  add(NID_basic_constraints, "critical,CA:FALSE");
  add(NID_key_usage, usage);
  add(NID_ext_key_usage, "serverAuth");
  add(NID_subject_key_identifier, "hash");
  add(NID_authority_key_identifier, "keyid");
  return extensions;
}

GENERAL_NAME* MakeName(std::string_view host) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr) return nullptr;
  boost::system::error_code not_an_address;
  const auto address = boost::asio::ip::make_address_v4(std::string(host), not_an_address);
  if (not_an_address) {
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, host.data(), static_cast<int>(host.size()));
    GENERAL_NAME_set0_value(name, GEN_DNS, text);
  } else {
    const auto bytes = address.to_bytes();
    ASN1_OCTET_STRING* octets = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(octets, bytes.data(), static_cast<int>(bytes.size()));
    GENERAL_NAME_set0_value(name, GEN_IPADD, octets);
  }
  return name;
}

bool AddAlternativeName(X509* certificate, std::string_view host) {
  const GeneralNamesPtr names(sk_GENERAL_NAME_new_null());
  GENERAL_NAME* name = MakeName(host);
  if (names == nullptr || name == nullptr) return false;
  sk_GENERAL_NAME_push(names.get(), name);
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_APPEND) ==
         1;
}

void SetName(X509_NAME* name, std::string_view common_name) {
  X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.data()),
                             static_cast<int>(common_name.size()), -1, 0);
}

void SetValidity(X509* certificate, CertificateKind kind) {
  const std::time_t now = std::time(nullptr);
  std::time_t from = now - 2 * kDay;  // clients' clocks may be behind
  std::time_t to = now + 30 * kDay;
  if (kind == CertificateKind::kExpired) {
    from = now - 400 * kDay;
    to = now - 35 * kDay;
  } else if (kind == CertificateKind::kNotYetValid) {
    from = now + 20 * kDay;
  }
  ASN1_TIME_set(X509_getm_notBefore(certificate), from);
  ASN1_TIME_set(X509_getm_notAfter(certificate), to);
}

absl::Status OpenSslError(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return absl::InternalError(fmt::format("{}: {}", what, text.data()));
}

uint64_t RandomSerial() {
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial));
  return serial >> 2;  // positive, with room to count upwards
}

std::string ToPem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

std::string Fingerprint(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

absl::StatusOr<CertificateStore::Ca> CertificateStore::MakeCa(const std::string& name,
                                                              EVP_PKEY* leaf_key) {
  Ca ca;
  ca.key.reset(EVP_EC_gen("P-256"));
  ca.certificate.reset(X509_new());
  X509* certificate = ca.certificate.get();
  if (ca.key == nullptr || certificate == nullptr) return OpenSslError("making a CA");
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), RandomSerial());
  SetValidity(certificate, CertificateKind::kGood);
  SetName(X509_get_subject_name(certificate), name);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_set_pubkey(certificate, ca.key.get());
  const bool ok = AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                  AddExtension(certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                  AddExtension(certificate, NID_subject_key_identifier, "hash") &&
                  X509_sign(certificate, ca.key.get(), EVP_sha256()) > 0;
  if (!ok) return OpenSslError("signing a CA");
  ca.leaf_extensions = MakeLeafExtensions(certificate, leaf_key, kLeafUsage);
  for (const auto& extension : ca.leaf_extensions) {
    if (extension == nullptr) return OpenSslError("preparing a CA's leaves");
  }
  return ca;
}

absl::StatusOr<CertificateStore> CertificateStore::Create() {
  CertificateStore store;
  store.next_serial_ = RandomSerial();
  store.leaf_key_ = MakeLeafKey();
  if (store.leaf_key_ == nullptr) return OpenSslError("making the leaf key");
  // The fingerprints of two origins' CAs differ, and so must the names: a trust store that holds
  // both would otherwise try the wrong one.
  auto ca = MakeCa(fmt::format("fetchbench origin CA {:x}", RandomSerial()), store.leaf_key_.get());
  if (!ca.ok()) return ca.status();
  store.ca_ = *std::move(ca);
  auto unknown =
      MakeCa(fmt::format("fetchbench unknown CA {:x}", RandomSerial()), store.leaf_key_.get());
  if (!unknown.ok()) return unknown.status();
  store.unknown_ca_ = *std::move(unknown);
  store.ca_pem_ = ToPem(store.ca_.certificate.get());
  store.ca_sha256_ = Fingerprint(store.ca_.certificate.get());
  return store;
}

EVP_PKEY* CertificateStore::KeyOf(CertificateKind kind) {
  if (kind != CertificateKind::kRsa) return leaf_key_.get();
  if (rsa_key_ == nullptr) rsa_key_.reset(LoadKnownRsaKey());
  return rsa_key_.get();
}

CertificatePtr CertificateStore::Issue(std::string_view host, CertificateKind kind) {
  const Ca& ca = kind == CertificateKind::kUnknownCa ? unknown_ca_ : ca_;
  const bool self_signed = kind == CertificateKind::kSelfSigned;
  const std::string_view name = kind == CertificateKind::kWrongHost ? kWrongHost : host;
  CertificatePtr leaf(X509_new());
  if (leaf == nullptr) return nullptr;
  X509* issuer = self_signed ? leaf.get() : ca.certificate.get();
  X509_set_version(leaf.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(leaf.get()), next_serial_++);
  SetValidity(leaf.get(), kind);
  SetName(X509_get_subject_name(leaf.get()),
          name.size() <= kMaxCommonName ? name : name.substr(0, kMaxCommonName));
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer));
  EVP_PKEY* key = KeyOf(kind);
  X509_set_pubkey(leaf.get(), key);
  std::vector<ExtensionPtr> rsa_extensions;
  if (kind == CertificateKind::kRsa) rsa_extensions = MakeLeafExtensions(issuer, key, kRsaUsage);
  const auto& extensions = rsa_extensions.empty() ? ca.leaf_extensions : rsa_extensions;
  // A self-signed leaf has the right key identifiers but for its issuer's, which it goes without.
  const size_t kept = extensions.size() - (self_signed ? 1 : 0);
  for (size_t i = 0; i < kept; ++i) X509_add_ext(leaf.get(), extensions[i].get(), -1);
  const bool named = kind != CertificateKind::kCommonNameOnly;
  const bool ok = (!named || AddAlternativeName(leaf.get(), name)) &&
                  X509_sign(leaf.get(), self_signed ? key : ca.key.get(), EVP_sha256()) > 0;
  if (!ok) return nullptr;
  return leaf;
}

X509* CertificateStore::Find(std::string_view host, CertificateKind kind) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(kind)));
  key += host;
  if (const auto it = index_.find(key); it != index_.end()) {
    recent_.splice(recent_.begin(), recent_, it->second);
    return it->second->certificate.get();
  }
  CertificatePtr issued = Issue(host, kind);
  if (issued == nullptr) return nullptr;
  if (recent_.size() >= kCapacity) {
    index_.erase(recent_.back().key);
    recent_.pop_back();
  }
  recent_.push_front({std::move(key), std::move(issued)});
  index_.emplace(recent_.front().key, recent_.begin());
  return recent_.front().certificate.get();
}

}  // namespace fetchbench::origin
