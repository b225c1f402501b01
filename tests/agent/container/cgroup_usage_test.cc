#include "agent/container/cgroup_usage.h"

#include <gtest/gtest.h>

namespace fetchbench::agent {
namespace {

TEST(CgroupUsageTest, MountsOfBothVersions) {
  const CgroupMounts mounts = ParseCgroupMounts(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "36 31 0:33 /part /somewhere rw,relatime - cgroup cgroup rw,devices\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
      "nonsense\n\n");
  EXPECT_EQ(mounts.v1.at("cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts.v1.at("memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(mounts.v1.count("devices"), 0);
  EXPECT_EQ(mounts.v2, "/sys/fs/cgroup/unified");
}

TEST(CgroupUsageTest, VersionOneDividesTheExactSumByTicks) {
  const CgroupFigures f = FiguresV1("4000000000\n", "user 30\nsystem 10\n", "5000\n", "9000\n",
                                    "cache 1\ntotal_inactive_file 1000\n", 100);
  EXPECT_EQ(f.user_us, 3'000'000);
  EXPECT_EQ(f.system_us, 1'000'000);
  EXPECT_EQ(f.memory_bytes, 4'000);
  EXPECT_EQ(f.memory_peak_bytes, 9'000);
}

TEST(CgroupUsageTest, VersionOneOfALifeShorterThanATick) {
  const CgroupFigures f = FiguresV1("900000\n", "user 0\nsystem 0\n", "", "", "", 100);
  EXPECT_EQ(f.user_us + f.system_us, 900);
}

TEST(CgroupUsageTest, VersionTwo) {
  const CgroupFigures f = FiguresV2("usage_usec 7\nuser_usec 5\nsystem_usec 2\n", "700\n", "900\n",
                                    "anon 1\ninactive_file 200\n");
  EXPECT_EQ(f.user_us, 5);
  EXPECT_EQ(f.system_us, 2);
  EXPECT_EQ(f.memory_bytes, 500);
  EXPECT_EQ(f.memory_peak_bytes, 900);
}

TEST(CgroupUsageTest, NamesFitTheDriver) {
  docker::EngineInfo info;
  info.cgroup_driver = "cgroupfs";
  EXPECT_EQ(RunCgroup(info, "1-2-ab-3", 7).parent(), "/fetchbench-1-2-ab-3-7");
  info.cgroup_driver = "systemd";
  EXPECT_EQ(RunCgroup(info, "1-2-ab-3", 7).parent(), "fetchbench-1_2_ab_3_7.slice");
}

TEST(CgroupUsageTest, WhatIsNotThereIsNotRead) {
  EXPECT_FALSE(RunCgroup().Read().has_value());
  EXPECT_TRUE(RunCgroup().Pids().empty());
  docker::EngineInfo info;
  info.cgroup_version = "1";
  EXPECT_FALSE(RunCgroup(info, "1-2-ab-3", 7).Read().has_value());
}

}  // namespace
}  // namespace fetchbench::agent
