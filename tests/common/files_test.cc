#include "common/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/support/temp_folder.h"

namespace fetchbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  const test::TempFolder folder_;
};

TEST_F(FilesTest, AFolderInPlaceOfAFileIsNoText) {
  EXPECT_EQ(ReadWholeFile(folder_.path()), "");
  const auto text = ReadTextFile(folder_.path());
  ASSERT_FALSE(text.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(text.status()));
  EXPECT_THAT(std::string(text.status().message()),
              AllOf(HasSubstr(folder_.path()), HasSubstr("is a folder")));
}

TEST_F(FilesTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(ReadWholeFile(folder_.File("none")), "");
  const auto text = ReadTextFile(folder_.File("none"));
  EXPECT_TRUE(absl::IsNotFound(text.status())) << text.status();
}

TEST_F(FilesTest, BytesComeAsTheyAre) {
  const std::string bytes("a\0\r\n\xff", 5);
  folder_.Write("f", bytes);
  EXPECT_EQ(ReadWholeFile(folder_.File("f")), bytes);
  const auto text = ReadTextFile(folder_.File("f"));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, bytes);
}

TEST_F(FilesTest, AFileWithoutEndIsRefused) {
  const auto text = ReadTextFile("/dev/zero");
  EXPECT_TRUE(absl::IsInvalidArgument(text.status())) << text.status();
}

// Only what is there as a file is opened: a pipe that nobody writes to would be waited for.
TEST_F(FilesTest, APipeInAFolderIsNoFileOfIt) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckIsFile(folder_.File("pipe"))));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckIsFile(folder_.path())));
  EXPECT_TRUE(absl::IsNotFound(CheckIsFile(folder_.File("none"))));
  folder_.Write("f", "");
  EXPECT_TRUE(CheckIsFile(folder_.File("f")).ok());
}

// Containers are given paths in it, and the Engine has another working folder.
TEST_F(FilesTest, TheTemporaryFolderIsNamedFromTheRoot) {
  const char* before = std::getenv("TMPDIR");
  const std::optional<std::string> was =
      before == nullptr ? std::nullopt : std::optional<std::string>(before);
  setenv("TMPDIR", ".", 1);
  const std::string given = TemporaryFolder();
  if (was) {
    setenv("TMPDIR", was->c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
  EXPECT_TRUE(std::filesystem::path(given).is_absolute()) << given;
  EXPECT_TRUE(std::filesystem::equivalent(given, "."));
}

}  // namespace
}  // namespace fetchbench
