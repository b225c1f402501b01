#include "origin/certificate_store.h"

#include <gtest/gtest.h>
#include <openssl/x509v3.h>

namespace fetchbench::origin {
namespace {

CertificateStore Make() {
  auto store = CertificateStore::Create();
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

TEST(CertificateStoreTest, ACertificateIsKeptForTheNextTime) {
  CertificateStore store = Make();
  X509* first = store.Find("a.test", CertificateKind::kGood);
  EXPECT_NE(store.Find("b.test", CertificateKind::kGood), first);
  EXPECT_EQ(store.Find("a.test", CertificateKind::kGood), first);
  EXPECT_NE(store.Find("a.test", CertificateKind::kExpired), first);
  EXPECT_EQ(store.size(), 3u);
}

TEST(CertificateStoreTest, TheOldestIsDroppedWhenFull) {
  CertificateStore store = Make();
  constexpr size_t kMore = 100;
  for (size_t i = 0; i < CertificateStore::kCapacity + kMore; ++i) {
    ASSERT_NE(store.Find("h" + std::to_string(i) + ".test", CertificateKind::kGood), nullptr);
  }
  EXPECT_EQ(store.size(), CertificateStore::kCapacity);
}

TEST(CertificateStoreTest, NamesAndAddressesAreMatched) {
  CertificateStore store = Make();
  X509* name = store.Find("a.test", CertificateKind::kGood);
  EXPECT_EQ(X509_check_host(name, "a.test", 6, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(name, "b.test", 6, 0, nullptr), 0);
  X509* address = store.Find("127.64.0.1", CertificateKind::kGood);
  EXPECT_EQ(X509_check_ip_asc(address, "127.64.0.1", 0), 1);
  X509* wrong = store.Find("a.test", CertificateKind::kWrongHost);
  EXPECT_EQ(X509_check_host(wrong, "a.test", 6, 0, nullptr), 0);
}

TEST(CertificateStoreTest, TwoStoresShareNothing) {
  const CertificateStore a = Make();
  const CertificateStore b = Make();
  EXPECT_NE(a.ca_sha256(), b.ca_sha256());
  EXPECT_NE(a.ca_pem(), b.ca_pem());
}

}  // namespace
}  // namespace fetchbench::origin
