#include "common/docker/context_tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_folder.h"

namespace fetchbench::docker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ContextTarTest : public ::testing::Test {
 protected:
  ContextTarTest() { folder_.Write("Dockerfile", "FROM scratch\n"); }
  absl::StatusOr<ContextTar> Pack() const { return PackContext(folder_.path()); }

  const test::TempFolder folder_;
};

TEST_F(ContextTarTest, EqualFoldersGiveEqualBytes) {
  const test::TempFolder other;
  other.Write("b", "2");  // another order, another time
  other.Write("a", "1");
  other.Write("Dockerfile", "FROM scratch\n");
  folder_.Write("a", "1");
  folder_.Write("b", "2");
  fs::last_write_time(folder_.File("a"), fs::file_time_type::clock::now() - std::chrono::hours(9));
  const auto one = Pack();
  const auto two = PackContext(other.path());
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->sha256, two->sha256);
  EXPECT_EQ(one->bytes, two->bytes);
  folder_.Write("a", "3");
  EXPECT_NE(Pack()->sha256, one->sha256);
}

TEST_F(ContextTarTest, IgnoredFilesStayOutAndTheDockerfileIn) {
  folder_.Write(".dockerignore", "*\n!kept\n");
  folder_.Write("kept", "inside-kept");
  folder_.Write("left", "inside-left");
  const auto packed = Pack();
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_THAT(packed->bytes, HasSubstr("inside-kept"));
  EXPECT_THAT(packed->bytes, HasSubstr("FROM scratch"));
  EXPECT_THAT(packed->bytes, Not(HasSubstr("inside-left")));
}

TEST_F(ContextTarTest, LinksInsideAreKeptAndThoseThatLeadOutRefused) {
  fs::create_symlink("Dockerfile", folder_.File("inside"));
  EXPECT_TRUE(Pack().ok());
  fs::create_symlink("../../etc/passwd", folder_.File("outside"));
  EXPECT_THAT(std::string(Pack().status().message()), HasSubstr(folder_.File("outside")));
  fs::remove(folder_.File("outside"));
  fs::create_symlink("/etc/passwd", folder_.File("absolute"));
  EXPECT_TRUE(absl::IsInvalidArgument(Pack().status()));
}

TEST_F(ContextTarTest, DevicesAndPipesAreRefused) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(std::string(Pack().status().message()), HasSubstr("pipe"));
}

TEST_F(ContextTarTest, SizeIsBoundedAndTheFoldersMistake) {
  folder_.Write("big", "");
  fs::resize_file(folder_.File("big"), kMaxContextBytes + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Pack().status())) << Pack().status();
}

TEST_F(ContextTarTest, RulesAndDockerfileMustBeFiles) {
  fs::create_directory(folder_.File(".dockerignore"));
  EXPECT_TRUE(absl::IsInvalidArgument(Pack().status())) << Pack().status();
  EXPECT_THAT(std::string(Pack().status().message()), HasSubstr(".dockerignore"));
  fs::remove(folder_.File(".dockerignore"));
  ASSERT_EQ(mkfifo(folder_.File(".dockerignore").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(Pack().status())) << Pack().status();
  fs::remove(folder_.File(".dockerignore"));
  fs::remove(folder_.File("Dockerfile"));
  fs::create_directory(folder_.File("Dockerfile"));
  EXPECT_TRUE(absl::IsNotFound(Pack().status())) << Pack().status();
}

TEST_F(ContextTarTest, AFolderWithoutDockerfileIsNone) {
  fs::remove(folder_.File("Dockerfile"));
  EXPECT_TRUE(absl::IsNotFound(Pack().status()));
}

}  // namespace
}  // namespace fetchbench::docker
