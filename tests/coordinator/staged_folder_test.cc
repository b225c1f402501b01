#include "coordinator/prepare/staged_folder.h"

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
class StagedFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TMPDIR", folder_.path().c_str(), 1);
    fs::create_directories(folder_.File("target"));
    folder_.Write("target/Dockerfile", "FROM scratch\n");
  }
  void TearDown() override { unsetenv("TMPDIR"); }

  std::string Stage(const docker::Owner& owner) const {
    return folder_.File("fetchbench-stage-of-" + owner.Text() + ".Ab12Cd");
  }

  const test::TempFolder folder_;
};

TEST_F(StagedFolderTest, IsACopyThatGoesWithTheObject) {
  std::string path;
  {
    const auto staged = StagedFolder::Make(folder_.File("target"), "/none", {});
    ASSERT_TRUE(staged.ok()) << staged.status();
    path = staged->path();
    EXPECT_TRUE(fs::exists(path + "/Dockerfile"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(StagedFolderTest, AProgramThatIsNotBuiltIsNamedAndNothingStays) {
  const auto staged = StagedFolder::Make(folder_.File("target"), "/none", {"fetchbench-x"});
  EXPECT_TRUE(absl::IsNotFound(staged.status()));
  EXPECT_THAT(std::string(staged.status().message()), ::testing::HasSubstr("fetchbench-x"));
  size_t left = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    left += entry.path().filename() == "target" ? 0 : 1;
  }
  EXPECT_EQ(left, 0U);
}

TEST_F(StagedFolderTest, WhatKilledProcessesLeftIsRemovedAndTheirsWhoLiveStays) {
  docker::Owner gone = docker::ThisProcess();
  gone.start_ticks -= 1;
  docker::Owner elsewhere = docker::ThisProcess();
  elsewhere.pid_namespace += 1;
  for (const docker::Owner& owner : {gone, elsewhere, docker::ThisProcess()}) {
    fs::create_directories(Stage(owner) + "/bin");
  }
  ASSERT_TRUE(StagedFolder::Make(folder_.File("target"), "/none", {}).ok());
  EXPECT_FALSE(fs::exists(Stage(gone)));
  EXPECT_TRUE(fs::exists(Stage(elsewhere)));
  EXPECT_TRUE(fs::exists(Stage(docker::ThisProcess())));
}

}  // namespace
}  // namespace fetchbench::coordinator
