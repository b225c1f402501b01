#include "common/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/files.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_fleet.h"

namespace fetchbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FleetCertificate;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TestFleet;

// What is logged while it lives, a line each.
class LogToText {
 public:
  LogToText() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    auto logger = std::make_shared<spdlog::logger>("tester", std::move(sink));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogToText() { spdlog::set_default_logger(before_); }
  LogToText(const LogToText&) = delete;
  LogToText& operator=(const LogToText&) = delete;

  std::vector<std::string> Lines() const {
    return absl::StrSplit(text_.str(), '\n', absl::SkipEmpty());
  }
  void Forget() { text_.str(""); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

class CredentialsTest : public ::testing::Test {
 protected:
  std::string Folder(const std::string& name) const { return temp_.path() + "/" + name; }
  std::string Path(const std::string& file) const { return Folder("h1") + "/" + file; }

  std::string Trouble(Role role = Role::kHost) const {
    const auto loaded = Credentials::Load(Folder("h1"), role);
    return loaded.ok() ? "" : std::string(loaded.status().message());
  }

  // What h1 says of a peer that shows a certificate of that kind.
  std::string Judge(const Credentials& credentials, const FleetCertificate& shown,
                    const std::string& name = "") {
    serial_ = fleet_.Write(Folder("peer"), shown);
    const std::string pem = ReadWholeFile(Folder("peer") + "/tls.crt");
    return std::string(credentials.CheckPeer(pem, Role::kOperator, name).message());
  }

  // h1 lets ada in; JudgeAda asks it again.
  void LetAdaIn() {
    fleet_.Write(Folder("h1"), {});
    auto h1 = Credentials::Load(Folder("h1"), Role::kHost);
    ASSERT_TRUE(h1.ok()) << h1.status();
    h1_ = *std::move(h1);
    ASSERT_EQ(Judge(*h1_, ada_), "");
    ada_pem_ = ReadWholeFile(Folder("peer") + "/tls.crt");
  }
  std::string JudgeAda() const {
    return std::string(h1_->CheckPeer(ada_pem_, Role::kOperator, "").message());
  }

  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }

  const TestFleet fleet_;
  const test::TempFolder temp_;
  std::string serial_;
  std::shared_ptr<const Credentials> h1_;
  std::string ada_pem_;
  const FleetCertificate ada_{.uri = "fetchbench://lab/operator/ada"};
};

TEST_F(CredentialsTest, OfAWholeFolderAreLoaded) {
  const std::string serial = fleet_.Write(Folder("h1"), {});
  const auto loaded = Credentials::Load(Folder("h1"), Role::kHost);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->own().identity.name, "h1");
  EXPECT_EQ((*loaded)->own().serial, serial);
}

TEST_F(CredentialsTest, SayWhatIsMissingAndHowToMakeIt) {
  EXPECT_THAT(Trouble(), AllOf(HasSubstr("h1/ca.crt"), HasSubstr("bin/pki host NAME")));
  EXPECT_THAT(Trouble(Role::kOperator), HasSubstr("bin/pki init FLEET"));
  for (const char* file : {"ca.crt", "tls.crt", "tls.key"}) {
    fleet_.Write(Folder("h1"), {});
    std::filesystem::remove(Path(file));
    EXPECT_THAT(Trouble(), HasSubstr(file));
    Write(Path(file), "");
    EXPECT_THAT(Trouble(), HasSubstr(file));
  }
}

TEST_F(CredentialsTest, WhoseKeyOthersCanReadAreRefused) {
  fleet_.Write(Folder("h1"), {});
  chmod(Path("tls.key").c_str(), 0640);
  EXPECT_THAT(Trouble(), AllOf(HasSubstr("mode 0640"), HasSubstr("chmod 600")));
}

TEST_F(CredentialsTest, WhoseKeyIsAnothersAreRefused) {
  fleet_.Write(Folder("h1"), {});
  fleet_.Write(Folder("h2"), {});
  std::filesystem::copy_file(Folder("h2") + "/tls.key", Path("tls.key"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(Trouble(), HasSubstr("not the key of that certificate"));
  Write(Path("tls.key"), "no key");
  chmod(Path("tls.key").c_str(), 0600);
  EXPECT_THAT(Trouble(), HasSubstr("no private key"));
}

TEST_F(CredentialsTest, OfAnotherRoleAreRefused) {
  fleet_.Write(Folder("h1"), {});
  EXPECT_THAT(Trouble(Role::kOperator), HasSubstr("of host h1, and an operator's is needed"));
}

TEST_F(CredentialsTest, ThatHaveEndedOrNotBegunAreRefused) {
  fleet_.Write(Folder("h1"), {.from_days = -3, .days = -1});
  EXPECT_THAT(Trouble(), AllOf(HasSubstr("expired at"), HasSubstr("bin/pki renew host/h1")));
  fleet_.Write(Folder("h1"), {.from_days = 1});
  EXPECT_THAT(Trouble(), HasSubstr("not valid before"));
}

TEST_F(CredentialsTest, ThatAreDeniedThemselvesAreRefused) {
  const std::string serial = fleet_.Write(Folder("h1"), {});
  Write(Path("denied"), "# stolen\n\n " + serial + " # h1\n");
  EXPECT_THAT(Trouble(), HasSubstr(serial + " is denied"));
}

TEST_F(CredentialsTest, WithAWrongDenyListAreRefused) {
  fleet_.Write(Folder("h1"), {});
  Write(Path("denied"), "AB\nnot hex\n");
  EXPECT_THAT(Trouble(), HasSubstr("denied:2"));
  Write(Path("denied"), "");
  EXPECT_THAT(Trouble(), AllOf(HasSubstr("denied is empty"), HasSubstr("copy it anew")));
  Write(Path("denied"), "# nobody\n");
  EXPECT_EQ(Trouble(), "");
}

// To open a pipe is to wait for somebody who writes.
TEST_F(CredentialsTest, TakeNoPipeForADenyList) {
  fleet_.Write(Folder("h1"), {});
  std::filesystem::remove(Path("denied"));
  ASSERT_EQ(mkfifo(Path("denied").c_str(), 0600), 0);
  EXPECT_THAT(Trouble(), HasSubstr("denied is no regular file"));
}

TEST_F(CredentialsTest, AcceptAnOperatorOfTheirOwnFleetOnly) {
  fleet_.Write(Folder("h1"), {});
  const auto h1 = Credentials::Load(Folder("h1"), Role::kHost);
  ASSERT_TRUE(h1.ok()) << h1.status();
  EXPECT_EQ(Judge(**h1, ada_), "");
  EXPECT_EQ(Judge(**h1, ada_, "ada"), "");
  EXPECT_THAT(Judge(**h1, ada_, "bob"), HasSubstr("not of bob"));
  EXPECT_THAT(Judge(**h1, {}), HasSubstr("of host h1; only an operator's"));
  EXPECT_THAT(Judge(**h1, {.uri = "fetchbench://other/operator/ada"}),
              HasSubstr("of fleet other, not of lab"));
  EXPECT_THAT(Judge(**h1, {.uri = ""}), HasSubstr("names nobody"));
  EXPECT_FALSE((*h1)->CheckPeer("", Role::kOperator, "").ok());
}

// A connection that stands is not verified again, but its next call is.
TEST_F(CredentialsTest, RefuseAPeerWhoseCertificateHasEndedMeanwhile) {
  fleet_.Write(Folder("h1"), {});
  const auto begin = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  auto now = std::make_shared<std::atomic<int64_t>>(begin);
  const auto h1 = Credentials::Load(Folder("h1"), Role::kHost, [now] { return now->load(); });
  ASSERT_TRUE(h1.ok()) << h1.status();
  EXPECT_EQ(Judge(**h1, ada_), "");
  *now += int64_t{40} * 24 * 3600;
  EXPECT_THAT(Judge(**h1, ada_), HasSubstr("the certificate of operator ada: expired at"));
}

TEST_F(CredentialsTest, ReadTheDenyListAgainWhenItHasChanged) {
  ASSERT_NO_FATAL_FAILURE(LetAdaIn());
  Write(Path("denied"), serial_ + "\n");
  EXPECT_THAT(JudgeAda(), HasSubstr("serial number " + serial_ + ", is denied"));
  // A list that has become unreadable lets nobody back in.
  Write(Path("denied"), "not hex\n");
  EXPECT_THAT(JudgeAda(), HasSubstr("is denied"));
  Write(Path("denied"), "# nobody\n");
  EXPECT_EQ(JudgeAda(), "");
  std::filesystem::remove(Path("denied"));
  EXPECT_EQ(JudgeAda(), "");
}

// By a copy that was broken off, or on a full disk: whoever was denied would be let in.
TEST_F(CredentialsTest, KeepWhatADenyListSaidThatHasBecomeEmptyAndSaySoOnce) {
  ASSERT_NO_FATAL_FAILURE(LetAdaIn());
  Write(Path("denied"), serial_ + "\n");
  ASSERT_THAT(JudgeAda(), HasSubstr("is denied"));
  const LogToText log;
  std::filesystem::resize_file(Path("denied"), 0);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(JudgeAda(), HasSubstr("is denied"));
  EXPECT_THAT(log.Lines(), ElementsAre(AllOf(HasSubstr("error: deny list: " + Path("denied")),
                                             HasSubstr("is empty"), HasSubstr("still holds"))));
  // What comes after it counts.
  Write(Path("denied"), serial_ + "\nAB\n");
  EXPECT_THAT(JudgeAda(), HasSubstr("is denied"));
  EXPECT_THAT(log.Lines(), SizeIs(1));
}

TEST_F(CredentialsTest, SayOnceThatNobodyIsDeniedAnyMore) {
  ASSERT_NO_FATAL_FAILURE(LetAdaIn());
  LogToText log;
  const auto lets_ada_in_again = [&](const char* why) {
    EXPECT_EQ(JudgeAda(), "");
    EXPECT_EQ(JudgeAda(), "");
    EXPECT_THAT(log.Lines(), ElementsAre(AllOf(HasSubstr("warning: deny list: " + Path("denied")),
                                               HasSubstr(why), HasSubstr("nobody is denied any"))));
    log.Forget();
  };
  Write(Path("denied"), serial_ + "\n");
  ASSERT_THAT(JudgeAda(), HasSubstr("is denied"));
  Write(Path("denied"), "# nobody\n");
  lets_ada_in_again("has no serial number");
  Write(Path("denied"), serial_ + "\n");
  ASSERT_THAT(JudgeAda(), HasSubstr("is denied"));
  std::filesystem::remove(Path("denied"));
  lets_ada_in_again("is gone");
  // Nobody was, before it.
  Write(Path("denied"), "# nobody yet\n");
  EXPECT_EQ(JudgeAda(), "");
  EXPECT_THAT(log.Lines(), SizeIs(0));
}

TEST_F(CredentialsTest, ReadADenyListLaterThatCouldNotBeReadWhenItChanged) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own checks need descriptors";
#endif
  ASSERT_NO_FATAL_FAILURE(LetAdaIn());
  Write(Path("denied"), serial_ + "\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(JudgeAda(), "") << "it was read without a descriptor";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(JudgeAda(), HasSubstr("is denied"));
}

}  // namespace
}  // namespace fetchbench
