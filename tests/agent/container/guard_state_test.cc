#include "agent/container/guard_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

constexpr const char* kGood =
    "version=2\npool=10.213.0.0/16\nbridges=fbg\norigins=10.0.0.9 10.0.1.9\n";

TEST(GuardStateTest, TellsPoolAndBridges) {
  const auto state = ParseGuardState(kGood);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->bridges, "fbg");
  EXPECT_EQ(GuardedNetworks(*state), 4096);
  EXPECT_EQ(GuardedSubnet(*state, 0), "10.213.0.0/28");
  EXPECT_EQ(GuardedGateway(*state, 1), "10.213.0.17");
  EXPECT_EQ(GuardedSubnet(*state, 4095), "10.213.255.240/28");
}

TEST(GuardStateTest, NamesTheOriginsThatMayBeReached) {
  const auto state = ParseGuardState(kGood);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(NamesOrigin(*state, "10.0.0.9"));
  EXPECT_TRUE(NamesOrigin(*state, "10.0.1.9"));
  for (const char* other : {"10.0.0.1", "10.0.0.90", "", "fd00::1", "10.0.0.9:53"}) {
    EXPECT_FALSE(NamesOrigin(*state, other)) << other;
  }
}

TEST(GuardStateTest, AnUnreadableOriginIsNone) {
  const auto state =
      ParseGuardState("version=2\npool=10.213.0.0/16\nbridges=fbg\norigins=x 10.0.0.9 1.2.3\n");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->origins.size(), 1);
}

TEST(GuardStateTest, WhatIsNotWholeIsRefused) {
  for (const char* bad :
       {"", "version=1\npool=10.213.0.0/16\nbridges=fbg\n", "version=2\nbridges=fbg\n",
        "version=2\npool=10.213.0.0/16\n", "version=2\npool=10.0.0.0/4\nbridges=fbg\n",
        "version=2\npool=10.0.0.0/30\nbridges=fbg\n", "version=2\npool=fd00::/8\nbridges=fbg\n",
        "version=2\npool=10.213.0.0/16\nbridges=toolongbridges\n",
        "version=2\npool=10.213.0.0/16\nbridges=a b\n", "\n\n=\n===", "version"}) {
    EXPECT_FALSE(ParseGuardState(bad).ok()) << bad;
  }
}

TEST(GuardStateTest, AFileThatOthersMayWriteIsNotBelieved) {
  const test::TempFolder folder;
  const std::string path = folder.File("state");
  EXPECT_TRUE(absl::IsNotFound(ReadGuardState(path).status()));
  std::ofstream(path) << kGood;
  chmod(path.c_str(), 0666);
  EXPECT_TRUE(absl::IsPermissionDenied(ReadGuardState(path).status()));
  chmod(path.c_str(), 0644);
  EXPECT_EQ(ReadGuardState(path).ok(), geteuid() == 0);
  const std::string link = folder.File("link");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(ReadGuardState(link).ok());
  EXPECT_FALSE(ReadGuardState(folder.File("")).ok());
}

}  // namespace
}  // namespace fetchbench::agent
