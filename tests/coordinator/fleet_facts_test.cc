// Which agents go together, by what they tell of their target.
#include "coordinator/run/fleet_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

v1::TargetFacts Facts(const std::string& version, const std::string& image = "sha256:1",
                      const std::string& tls = "OpenSSL 3.0.22") {
  v1::TargetFacts facts;
  facts.set_name("go/net-http");
  facts.set_version(version);
  facts.set_image_digest(image);
  facts.set_tls_library(tls);
  return facts;
}

std::string Words(const absl::Status& status) { return std::string(status.message()); }

TEST(FleetFactsTest, ThoseThatRunTheSameAreTaken) {
  FleetFacts fleet(nullptr, false);
  ASSERT_TRUE(fleet.Prepared("a", Facts("1")).ok());
  EXPECT_TRUE(fleet.Started("a", "x86_64", Facts("1")).ok());
  EXPECT_TRUE(fleet.Started("late", "x86_64", Facts("1")).ok());
  EXPECT_TRUE(fleet.Started("late", "x86_64", Facts("1")).ok()) << "back again";
  EXPECT_THAT(fleet.by_agent(), UnorderedElementsAre(Key("a"), Key("late")));
}

TEST(FleetFactsTest, OneWithAnotherVersionOrImageIsNotAndBothAreNamed) {
  FleetFacts fleet(nullptr, false);
  ASSERT_TRUE(fleet.Started("a", "x86_64", Facts("1")).ok());
  const absl::Status version = fleet.Started("late", "x86_64", Facts("2"));
  EXPECT_TRUE(absl::IsFailedPrecondition(version));
  EXPECT_THAT(Words(version), HasSubstr("the version of the target is 2 on late, and 1 on a"));
  const absl::Status image = fleet.Started("later", "x86_64", Facts("1", "sha256:2"));
  EXPECT_TRUE(absl::IsFailedPrecondition(image));
  EXPECT_THAT(Words(image), AllOf(HasSubstr("sha256:2 on later"), HasSubstr("sha256:1 on a")));
  EXPECT_THAT(fleet.by_agent(), UnorderedElementsAre(Key("a"))) << "so a resume knows only those";
}

TEST(FleetFactsTest, AnotherArchitectureHasAnImageOfItsOwn) {
  FleetFacts fleet(nullptr, false);
  ASSERT_TRUE(fleet.Started("a", "x86_64", Facts("1")).ok());
  EXPECT_TRUE(fleet.Started("arm", "aarch64", Facts("1", "sha256:2")).ok());
}

TEST(FleetFactsTest, OneThatComesBackWithAnotherTargetIsNotTaken) {
  FleetFacts fleet(nullptr, false);
  ASSERT_TRUE(fleet.Prepared("a", Facts("1")).ok());
  const absl::Status back = fleet.Started("a", "x86_64", Facts("1", "sha256:1", "another"));
  EXPECT_TRUE(absl::IsFailedPrecondition(back));
  EXPECT_THAT(Words(back), AllOf(HasSubstr("came back with another target"),
                                 HasSubstr("TLS library was OpenSSL 3.0.22, is another")));
}

TEST(FleetFactsTest, OneThatWasAnotherInAnEarlierSessionIsNotTaken) {
  ResumeState before;
  before.facts["late"] = Facts("1");
  FleetFacts fleet(&before, false);
  EXPECT_TRUE(absl::IsInvalidArgument(fleet.Prepared("late", Facts("2"))));
  const absl::Status late = fleet.Started("late", "x86_64", Facts("2"));
  EXPECT_TRUE(absl::IsInvalidArgument(late));
  EXPECT_THAT(Words(late), HasSubstr("on late: version was 1, is 2"));
  EXPECT_TRUE(fleet.Started("late", "x86_64", Facts("1")).ok());
}

TEST(FleetFactsTest, OneWhoseTargetCannotTellIsTakenByItsImage) {
  ResumeState before;
  before.facts["mute"] = Facts("1");
  FleetFacts fleet(&before, false);
  ASSERT_TRUE(fleet.Started("a", "x86_64", Facts("1")).ok());
  v1::TargetFacts mute;
  mute.set_name("go/net-http");
  mute.set_image_digest("sha256:1");
  EXPECT_TRUE(fleet.Started("mute", "x86_64", mute).ok());
  mute.set_image_digest("sha256:2");
  EXPECT_FALSE(fleet.Started("mute", "x86_64", mute).ok());
  EXPECT_THAT(fleet.by_agent(), UnorderedElementsAre(Key("a"))) << "what it told before stands";
}

}  // namespace
}  // namespace fetchbench::coordinator
