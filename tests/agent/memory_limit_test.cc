// How much memory an agent may have, and what it does when it has more: what is decided, with
// neither files of the kernel's nor clocks.

#include "agent/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/memory_mark.h"
#include "agent/memory_troubles.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class CgroupMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = temp_.File(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  uint64_t Limit(const std::string& proc_self_cgroup) const {
    return CgroupMemoryLimit(proc_self_cgroup, temp_.File(""));
  }

  const test::TempFolder temp_;
};

TEST_F(CgroupMemoryTest, TakesTheSmallestOfTheGroupsAround) {
  Write("memory.max", "max");
  Write("system.slice/memory.max", "4000");
  Write("system.slice/agent.service/memory.max", "9000");
  EXPECT_EQ(Limit("0::/system.slice/agent.service\n"), 4'000u);
  EXPECT_EQ(Limit("0::/system.slice/agent.service"), 4'000u);
  EXPECT_EQ(Limit("0::/\n"), 0u);
}

TEST_F(CgroupMemoryTest, WhicheverOfThemIsTheSmallest) {
  Write("memory.max", "9000");
  Write("a/memory.max", "max");
  Write("a/b/memory.max", "3000");
  EXPECT_EQ(Limit("0::/a/b\n"), 3'000u) << "the innermost";
  EXPECT_EQ(Limit("0::/a\n"), 9'000u) << "the outermost; one of no group around is none";
  Write("memory/a/memory.limit_in_bytes", "2000");
  Write("memory/a/b/memory.limit_in_bytes", "8000");
  EXPECT_EQ(Limit("4:memory:/a/b\n"), 2'000u) << "one around, in the first version";
  EXPECT_EQ(Limit("4:memory:/a/b\n0::/a/b\n"), 2'000u) << "where a host has both";
}

TEST_F(CgroupMemoryTest, KnowsTheFirstVersionToo) {
  Write("memory/memory.limit_in_bytes", "9223372036854771712");
  Write("memory/a/memory.limit_in_bytes", "5000");
  EXPECT_EQ(Limit("9:name=systemd:/\n4:memory:/a\n0::/\n"), 5'000u);
}

// As in a container, whose path is one of the host's.
TEST_F(CgroupMemoryTest, APathThatIsNotThereLeavesTheRoot) {
  Write("memory/memory.limit_in_bytes", "7000");
  EXPECT_EQ(Limit("4:memory:/docker/0123\n"), 7'000u);
}

TEST_F(CgroupMemoryTest, NothingIsMadeOfNonsense) {
  Write("cpu/a/memory.limit_in_bytes", "3");
  for (const char* text : {"", "\n\n", "0", "0:", "::", "0::", "4:memory:", "4:cpu:/a"}) {
    EXPECT_EQ(Limit(text), 0u) << text;
  }
  Write("memory.max", "much");
  EXPECT_EQ(Limit("0::/\n"), 0u);
}

TEST(DefaultMemoryLimitTest, IsHalfOfWhatThereIsWithinBounds) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "there is none with a sanitizer";
#endif
  EXPECT_EQ(DefaultMemoryLimit(0), kMemoryLimitBytes);
  EXPECT_EQ(DefaultMemoryLimit(64'000 * kMiB), kMemoryLimitBytes);
  EXPECT_EQ(DefaultMemoryLimit(512 * kMiB), 256 * kMiB);
  EXPECT_EQ(DefaultMemoryLimit(10 * kMiB), 64 * kMiB);
}

TEST(DoubtMemoryLimitTest, NamesBothFiguresOfALimitThatNothingCanKeepTo) {
  EXPECT_EQ(DoubtMemoryLimit(512 * kMiB, 512 * kMiB), "");
  EXPECT_EQ(DoubtMemoryLimit(512 * kMiB, 0), "") << "who knows";
  EXPECT_THAT(DoubtMemoryLimit(2'048 * kMiB, 1'024 * kMiB),
              AllOf(HasSubstr("--memory-limit 2048"), HasSubstr("1024 MiB")));
}

TEST(MemoryTroublesTest, TellsTheLast) {
  MemoryTroubles troubles;
  EXPECT_EQ(troubles.last(), nullptr);
  troubles.HungUp(70 * kMiB, 64 * kMiB, 1'000);
  ASSERT_NE(troubles.last(), nullptr);
  EXPECT_EQ(troubles.last()->at_us(), 1'000);
  EXPECT_EQ(troubles.last()->memory_bytes(), 70 * kMiB);
  EXPECT_EQ(troubles.last()->limit_bytes(), 64 * kMiB);
  EXPECT_EQ(troubles.last()->dropped_run_id(), "");
  troubles.Dropped("r", 66 * kMiB, 64 * kMiB, 4'000);
  EXPECT_EQ(troubles.last()->at_us(), 4'000);
  EXPECT_EQ(troubles.last()->dropped_run_id(), "r");
}

TEST(MemoryTroublesTest, ARunThatWasDroppedTwiceIsNotBegunAgain) {
  MemoryTroubles troubles;
  troubles.Dropped("r", 66 * kMiB, 64 * kMiB, 1);
  EXPECT_TRUE(troubles.CheckRun("r").ok()) << "the memory may have been others'";
  troubles.HungUp(66 * kMiB, 64 * kMiB, 2);
  troubles.Dropped("r", 67 * kMiB, 64 * kMiB, 3);
  const absl::Status refused = troubles.CheckRun("r");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("67 MiB"), HasSubstr("its limit is 64 MiB (--memory-limit)"),
                    HasSubstr("start the agent with a higher one")));
  EXPECT_TRUE(troubles.CheckRun("other").ok());
  troubles.Dropped("other", 66 * kMiB, 64 * kMiB, 4);
  EXPECT_TRUE(troubles.CheckRun("other").ok());
}

// Looks each 100 ms.
class MemoryMarkTest : public ::testing::Test {
 protected:
  MemoryStep At(uint64_t mib) {
    now_ += milliseconds(100);
    return mark_.Next(mib * kMiB, now_);
  }
  // Every step but kNothing in so many looks.
  std::vector<MemoryStep> Steps(uint64_t mib, int looks) {
    std::vector<MemoryStep> steps;
    for (int i = 0; i < looks; ++i) {
      if (const MemoryStep step = At(mib); step != MemoryStep::kNothing) steps.push_back(step);
    }
    return steps;
  }

  MemoryMark mark_{100 * kMiB};
  SteadyTime now_{seconds(1'000)};
};

TEST_F(MemoryMarkTest, BelowItNothingIsDone) { EXPECT_TRUE(Steps(100, 100).empty()); }

TEST_F(MemoryMarkTest, AboveItHangsUpOnceAndLetsInWhenThereIsRoom) {
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  EXPECT_EQ(At(200), MemoryStep::kNothing);
  EXPECT_EQ(At(80), MemoryStep::kNothing) << "or the next message would be too much again";
  EXPECT_EQ(At(74), MemoryStep::kLetIn);
  EXPECT_EQ(At(90), MemoryStep::kNothing);
  EXPECT_EQ(At(101), MemoryStep::kHangUp) << "as often as it takes";
}

TEST_F(MemoryMarkTest, WhatIsFreeIsGivenBackWhileItIsTooMuch) {
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  EXPECT_EQ(Steps(101, 9), std::vector(3, MemoryStep::kTrim));
}

TEST_F(MemoryMarkTest, ARunIsDroppedWhenNothingElseCanBeTooMuch) {
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  const std::vector<MemoryStep> steps = Steps(101, 300);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), MemoryStep::kDropRun), 1);
  EXPECT_EQ(steps.front(), MemoryStep::kTrim);
  EXPECT_EQ(At(74), MemoryStep::kLetIn);
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  EXPECT_EQ(At(101), MemoryStep::kNothing) << "with patience again";
}

TEST_F(MemoryMarkTest, WhoCannotGetBelowItGivesUpInTheEnd) {
  const auto last = [](const std::vector<MemoryStep>& steps) {
    return std::count(steps.begin(), steps.end(), MemoryStep::kGiveUp);
  };
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  EXPECT_EQ(last(Steps(76, 30 + 599)), 0) << "3 s until the run is dropped, and nearly 60 s more";
  EXPECT_EQ(At(76), MemoryStep::kGiveUp);
  EXPECT_EQ(last(Steps(76, 1'000)), 0) << "once";
}

TEST_F(MemoryMarkTest, WhatFellInTimeIsLetInAndHasTheWholePatienceAgain) {
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  const auto steps = Steps(101, 600);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), MemoryStep::kDropRun), 1);
  EXPECT_EQ(At(74), MemoryStep::kLetIn);
  EXPECT_EQ(At(101), MemoryStep::kHangUp);
  const auto again = Steps(101, 600);
  EXPECT_EQ(std::count(again.begin(), again.end(), MemoryStep::kGiveUp), 0);
}

}  // namespace
}  // namespace fetchbench::agent
