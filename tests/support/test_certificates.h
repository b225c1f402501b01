#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace fetchbench::testing {

// What is wrong with a certificate on purpose.
enum class CertificateKind { kGood, kExpired, kNotYetValid, kSelfSigned, kOtherCa };

// The kind of public key in a certificate.
enum class KeyType { kP256, kP384, kRsa, kEd25519 };

// A throw-away CA that lives in memory and issues certificates on the fly; its own key is P-256.
// Not thread-safe.
class TestCa {
 public:
  TestCa();
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;

  // The CA's certificate: what a client is told to trust.
  std::string Pem() const;

  // A server context whose certificate names `name` (a host name, "*.example.test", or an IP
  // address).
  std::shared_ptr<SSL_CTX> ServerContext(const std::string& name,
                                         CertificateKind kind = CertificateKind::kGood,
                                         KeyType key = KeyType::kP256);

  // A client context that trusts this CA alone and verifies.
  std::shared_ptr<SSL_CTX> ClientContext() const;

 private:
  struct Pair;
  std::unique_ptr<Pair> ca_;
};

}  // namespace fetchbench::testing
