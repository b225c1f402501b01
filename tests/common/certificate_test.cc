#include "common/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_fleet.h"

namespace fetchbench {
namespace {

using testing::FleetCertificate;
using ::testing::HasSubstr;
using testing::TestFleet;

TEST(IdentityTest, IsReadFromAUri) {
  const auto identity = ParseIdentity("fetchbench://lab/operator/ada");
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->fleet, "lab");
  EXPECT_EQ(identity->role, Role::kOperator);
  EXPECT_EQ(identity->name, "ada");
  EXPECT_EQ(identity->Uri(), "fetchbench://lab/operator/ada");
  EXPECT_EQ(ParseIdentity("fetchbench://lab/host/fd00::1")->name, "fd00::1");
}

TEST(IdentityTest, RefusesWhatIsNotExactlyOne) {
  for (const char* uri :
       {"", "fetchbench://", "fetchbench://lab", "fetchbench://lab/host", "fetchbench://lab/host/",
        "fetchbench:///host/h1", "fetchbench://lab/root/h1", "fetchbench://lab/host/h1/operator/x",
        "fetchbench://lab/host/h1?x", "https://lab/host/h1", "fetchbench://lab/HOST/h1",
        "fetchbench://lab/host/h 1", "fetchbench://lab//h1"}) {
    EXPECT_FALSE(ParseIdentity(uri).ok()) << uri;
  }
}

TEST(SerialTest, IsTheSameHoweverItIsWritten) {
  EXPECT_EQ(NormalSerial("0a:1B"), "A1B");
  EXPECT_EQ(NormalSerial("00A1b"), "A1B");
  EXPECT_EQ(NormalSerial("0"), "0");
  EXPECT_EQ(NormalSerial(""), "");
  EXPECT_EQ(NormalSerial("h1"), "");
}

class CertificateTest : public ::testing::Test {
 protected:
  absl::StatusOr<Certificate> Read(const FleetCertificate& wanted) {
    serial_ = fleet_.Write(folder_.path(), wanted);
    return ReadCertificate(ReadWholeFile(folder_.path() + "/tls.crt"));
  }

  const TestFleet fleet_;
  const test::TempFolder folder_;
  std::string serial_;
};

TEST_F(CertificateTest, TellsWhoItIsForAndHowLongItIsValid) {
  const auto certificate = Read({});
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(certificate->serial, serial_);
  EXPECT_EQ(certificate->identity.Uri(), "fetchbench://lab/host/h1");
  EXPECT_EQ(certificate->not_after - certificate->not_before, 31 * 24 * 3600);
}

TEST_F(CertificateTest, MustNameExactlyOneHostOrOperator) {
  EXPECT_THAT(std::string(Read({.uri = ""}).status().message()), HasSubstr("names nobody"));
  EXPECT_THAT(std::string(Read({.uri = "https://example.test/"}).status().message()),
              HasSubstr("names nobody"));
  EXPECT_THAT(std::string(Read({.uri = "fetchbench://lab/host/h1,fetchbench://lab/operator/h1"})
                              .status()
                              .message()),
              HasSubstr("names several"));
}

TEST_F(CertificateTest, OfAnotherTextIsAnError) {
  EXPECT_FALSE(ReadCertificate("").ok());
  EXPECT_FALSE(
      ReadCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").ok());
}

TEST_F(CertificateTest, IsCheckedAgainstTheClock) {
  const auto certificate = Read({});
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_TRUE(CheckValidAt(*certificate, certificate->not_before).ok());
  EXPECT_TRUE(CheckValidAt(*certificate, certificate->not_after).ok());
  EXPECT_THAT(std::string(CheckValidAt(*certificate, certificate->not_after + 1).message()),
              HasSubstr("expired at 20"));
  EXPECT_THAT(std::string(CheckValidAt(*certificate, certificate->not_before - 1).message()),
              HasSubstr("not valid before 20"));
}

}  // namespace
}  // namespace fetchbench
