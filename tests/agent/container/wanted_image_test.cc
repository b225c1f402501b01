#include "agent/container/wanted_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::Start StartWith(const std::string& architecture, const std::string& id) {
  v1::Start start;
  start.mutable_target()->set_name("go/net-http");
  (*start.mutable_image_ids())[architecture] = id;
  return start;
}

docker::ImageInfo ImageWith(const std::string& id) {
  docker::ImageInfo image;
  image.id = id;
  return image;
}

std::string Refusal(const v1::Start& start, const std::string& id) {
  const absl::Status status = CheckWantedImage(start, ImageWith(id), "x86_64");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(WantedImageTest, TheRunsImageIsTheOneOfTheHostsArchitecture) {
  v1::Start start = StartWith("x86_64", "sha256:1");
  (*start.mutable_image_ids())["aarch64"] = "sha256:2";
  EXPECT_TRUE(CheckWantedImage(start, ImageWith("sha256:1"), "x86_64").ok());
  EXPECT_TRUE(CheckWantedImage(start, ImageWith("sha256:2"), "aarch64").ok());
  EXPECT_FALSE(CheckWantedImage(start, ImageWith("sha256:2"), "x86_64").ok());
}

TEST(WantedImageTest, ARunThatNamesNoneComparesNothing) {
  EXPECT_TRUE(CheckWantedImage(v1::Start(), ImageWith("sha256:1"), "x86_64").ok());
}

TEST(WantedImageTest, AnotherImageIsRefusedWithBothAndWhatToDo) {
  v1::Start start = StartWith("x86_64", "sha256:1");
  EXPECT_THAT(Refusal(start, "sha256:2"), AllOf(HasSubstr("go/net-http"), HasSubstr("is sha256:2"),
                                                HasSubstr("have sha256:1"), HasSubstr("Prepare")));
  start.mutable_target()->set_image("mine:1");
  EXPECT_THAT(Refusal(start, "sha256:2"), HasSubstr("bin/provision --image mine:1"));
}

TEST(WantedImageTest, AnArchitectureThatTheRunDoesNotKnowIsRefused) {
  EXPECT_THAT(Refusal(StartWith("aarch64", "sha256:1"), "sha256:1"), HasSubstr("none for x86_64"));
}

}  // namespace
}  // namespace fetchbench::agent
