#include "coordinator/host/socket_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "common/docker/owner.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

// With a folder for temporary files of its own.
class SocketFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TMPDIR"); }

  std::string Left(const std::string& name, const std::string& owner) const {
    fs::create_directories(folder_.File(name));
    folder_.Write(name + "/owner", owner);
    return folder_.File(name);
  }

  const test::TempFolder folder_;
};

TEST_F(SocketFolderTest, IsPrivateAndShort) {
  const auto made = MakeSocketFolder();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(fs::status(*made).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(made->starts_with(folder_.path()));
  EXPECT_LT(made->size() + sizeof "/control/socket", 108U);
}

TEST_F(SocketFolderTest, GoesToTmpWhereAPathWouldBeTooLong) {
  const std::string deep = folder_.File(std::string(100, 'd'));
  fs::create_directories(deep);
  setenv("TMPDIR", deep.c_str(), 1);
  const auto made = MakeSocketFolder();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->starts_with("/tmp/"));
  fs::remove_all(*made);
}

TEST_F(SocketFolderTest, ThoseOfProcessesThatAreGoneAreRemovedAndNoOthers) {
  docker::Owner gone = docker::ThisProcess();
  ++gone.start_ticks;  // the number is in use again
  const std::string left = Left("fetchbench-run-gone01", gone.Text());
  const std::string alive = Left("fetchbench-run-alive1", docker::ThisProcess().Text());
  const std::string new_one = Left("fetchbench-run-new001", "");
  const std::string other = Left("another-gone", gone.Text());
  ASSERT_TRUE(MakeSocketFolder().ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(new_one));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace fetchbench::coordinator
