#include "common/certificate.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <vector>

namespace fetchbench {
namespace {

constexpr std::string_view kScheme = "fetchbench://";
constexpr size_t kMaxPartBytes = 253;  // a host name's

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;
using NumberPtr = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)>;

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

// No key is ever asked for a passphrase: a daemon has nobody to ask.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

BioPtr BioOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

X509Ptr ParsePem(const std::string& pem) {
  const BioPtr bio = BioOf(pem);
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr), X509_free);
  ERR_clear_error();  // the thread's queue is gRPC's too
  return certificate;
}

std::string SerialOf(const X509* certificate) {
  const NumberPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), BN_free);
  if (!number) return {};
  char* hex = BN_bn2hex(number.get());
  std::string serial = NormalSerial(hex == nullptr ? "" : hex);
  OPENSSL_free(hex);
  return serial;
}

// False: no date, or one that cannot be expressed.
bool SecondsOf(const ASN1_TIME* time, int64_t& seconds) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return false;
  seconds = timegm(&parts);
  return true;
}

// The URIs of the certificate that are of our scheme.
std::vector<std::string> IdentityUris(const X509* certificate) {
  std::vector<std::string> uris;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
                           X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
                       GENERAL_NAMES_free);
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    std::string uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                    static_cast<size_t>(ASN1_STRING_length(text)));
    if (uri.starts_with(kScheme)) uris.push_back(std::move(uri));
  }
  ERR_clear_error();
  return uris;
}

// A part of an identity; a name may be an IPv6 address.
bool IsPart(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPartBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_' || c == ':';
         });
}

std::string DateText(int64_t seconds) {
  const time_t time = seconds;
  tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const size_t size = strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), size};
}

}  // namespace

std::string_view RoleName(Role role) { return role == Role::kHost ? "host" : "operator"; }

std::string Identity::Uri() const {
  return fmt::format("{}{}/{}/{}", kScheme, fleet, RoleName(role), name);
}

absl::StatusOr<Identity> ParseIdentity(std::string_view uri) {
  // Of a stranger's certificate, and about to be logged: not quoted when it is not of our form.
  const absl::Status wrong = Wrong("a name that is not fetchbench://FLEET/host|operator/NAME");
  if (!uri.starts_with(kScheme)) return wrong;
  uri.remove_prefix(kScheme.size());
  const size_t first = uri.find('/');
  const size_t second = first == std::string_view::npos ? first : uri.find('/', first + 1);
  if (second == std::string_view::npos) return wrong;
  const std::string_view role = uri.substr(first + 1, second - first - 1);
  Identity identity;
  identity.fleet = std::string(uri.substr(0, first));
  identity.name = std::string(uri.substr(second + 1));
  if (!IsPart(identity.fleet) || !IsPart(identity.name)) return wrong;
  if (role == RoleName(Role::kHost)) {
    identity.role = Role::kHost;
  } else if (role == RoleName(Role::kOperator)) {
    identity.role = Role::kOperator;
  } else {
    return wrong;
  }
  return identity;
}

absl::StatusOr<Certificate> ReadCertificate(const std::string& pem) {
  const X509Ptr x509 = ParsePem(pem);
  if (!x509) return Wrong("it holds no certificate in PEM form");
  Certificate certificate;
  certificate.serial = SerialOf(x509.get());
  if (certificate.serial.empty() ||
      !SecondsOf(X509_get0_notBefore(x509.get()), certificate.not_before) ||
      !SecondsOf(X509_get0_notAfter(x509.get()), certificate.not_after)) {
    return Wrong("the certificate's serial number or dates cannot be read");
  }
  const std::vector<std::string> uris = IdentityUris(x509.get());
  if (uris.size() != 1) {
    return Wrong(
        fmt::format("the certificate names {}, not one host or operator of a fleet "
                    "(fetchbench://FLEET/host|operator/NAME)",
                    uris.empty() ? "nobody" : "several"));
  }
  absl::StatusOr<Identity> identity = ParseIdentity(uris.front());
  if (!identity.ok()) return identity.status();
  certificate.identity = *std::move(identity);
  return certificate;
}

absl::Status CheckKeyOfCertificate(const std::string& key_pem, const std::string& certificate_pem) {
  const X509Ptr certificate = ParsePem(certificate_pem);
  const BioPtr bio = BioOf(key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr),
                   EVP_PKEY_free);
  const bool same = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!certificate) return Wrong("it holds no certificate in PEM form");
  if (!key) return Wrong("it holds no private key in PEM form without a passphrase");
  if (!same) return Wrong("it is not the key of that certificate");
  return absl::OkStatus();
}

std::string NormalSerial(std::string_view text) {
  std::string serial;
  for (const char c : text) {
    if (c == ':') continue;
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!digit) return {};
    serial += static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
  }
  const size_t first = serial.find_first_not_of('0');
  if (first != std::string::npos) return serial.substr(first);
  return serial.empty() ? serial : "0";
}

absl::Status CheckValidAt(const Certificate& certificate, int64_t now) {
  if (now > certificate.not_after) {
    return absl::FailedPreconditionError(
        fmt::format("expired at {}", DateText(certificate.not_after)));
  }
  if (now < certificate.not_before) {
    return absl::FailedPreconditionError(
        fmt::format("not valid before {}; is the clock right?", DateText(certificate.not_before)));
  }
  return absl::OkStatus();
}

}  // namespace fetchbench
