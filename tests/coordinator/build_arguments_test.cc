#include "coordinator/targets/build_arguments.h"

#include <gmock/gmock.h>

#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BuildArgumentsTest, FindsTheArgumentsOfADockerfile) {
  EXPECT_THAT(DeclaredArguments("ARG GO_IMAGE=golang:1\n"
                                "# ARG NO\n"
                                "FROM ${GO_IMAGE}\r\n"
                                "  arg  A B=2\n"
                                "ARG A\n"
                                "ARGUMENT C\n"
                                "RUN echo ARG D\nARG E"),
              ElementsAre("GO_IMAGE", "A", "B", "E"));
  EXPECT_THAT(DeclaredArguments(""), IsEmpty());
}

TEST(BuildArgumentsTest, BaseImagesAreGivenWhereTheyAreDeclared) {
  const auto chosen =
      ChooseArguments({"GO_IMAGE", "X"}, {{"GO_IMAGE", "b"}, {"RUST_IMAGE", "r"}}, {{"X", "1"}});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(*chosen, (BuildArguments{{"GO_IMAGE", "b"}, {"X", "1"}}));
}

TEST(BuildArgumentsTest, WhatIsGivenWinsOverABaseImage) {
  const auto chosen = ChooseArguments({"GO_IMAGE"}, {{"GO_IMAGE", "b"}}, {{"GO_IMAGE", "mine"}});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->at("GO_IMAGE"), "mine");
}

TEST(BuildArgumentsTest, AnArgumentThatTheDockerfileDoesNotDeclareIsAMistake) {
  const auto chosen = ChooseArguments({"GO_IMAGE"}, {}, {{"GO_IMAEG", "mine"}});
  EXPECT_TRUE(absl::IsInvalidArgument(chosen.status()));
  EXPECT_THAT(std::string(chosen.status().message()), HasSubstr("did you mean GO_IMAGE?"));
}

TEST(BuildArgumentsTest, ReadsTheFileOfBaseImages) {
  const test::TempFolder folder;
  folder.Write("good.json", R"({"GO_IMAGE": "b:1"})");
  folder.Write("bad.json", R"({"GO_IMAGE": 1})");
  const auto good = ReadBaseImages(folder.File("good.json"), true);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, (BuildArguments{{"GO_IMAGE", "b:1"}}));
  const auto bad = ReadBaseImages(folder.File("bad.json"), false);
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("bad.json: GO_IMAGE"));
  EXPECT_TRUE(ReadBaseImages(folder.File("none"), false)->empty());
  EXPECT_TRUE(absl::IsNotFound(ReadBaseImages(folder.File("none"), true).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadBaseImages(folder.path(), false).status()));
}

TEST(BuildArgumentsTest, BaseImagesThatAHostWithoutARegistryLacksAreNamed) {
  const auto wanted = RegistryImages(
      "ARG A_IMAGE=a:1\narg B_IMAGE=b:1\nARG RUNTIME_IMAGE=scratch\nARG VERSION=1\nARG C_IMAGE\n");
  EXPECT_THAT(wanted, ElementsAre("A_IMAGE", "B_IMAGE"));
  EXPECT_TRUE(CheckBaseImages(wanted, {}, {}, "f").ok()) << "a host with a registry";
  const BuildArguments made{{"A_IMAGE", "x"}};
  const absl::Status lacking = CheckBaseImages(wanted, made, made, "bases.json");
  EXPECT_EQ(lacking.code(), absl::StatusCode::kNotFound) << "wrong configuration: exit code 2";
  EXPECT_THAT(std::string(lacking.message()),
              testing::AllOf(HasSubstr("for B_IMAGE: bases.json names none"),
                             HasSubstr("--build-arg NAME=IMAGE")));
  EXPECT_TRUE(CheckBaseImages(wanted, made, {{"A_IMAGE", "x"}, {"B_IMAGE", "y"}}, "f").ok());
}

}  // namespace
}  // namespace fetchbench::coordinator
