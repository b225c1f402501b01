#include "agent/native/deadline_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace fetchbench::native {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Probe final : WheelTimer {
  int fired = 0;
  DeadlineWheel* again = nullptr;
  SteadyTime when{};
  void OnTimer() override {
    ++fired;
    if (again != nullptr) again->Arm(*this, when);
  }
};

constexpr SteadyTime kStart{seconds(1000)};

TEST(DeadlineWheelTest, FiresNeverEarlyAndAtMostOneTickLate) {
  std::mt19937 random(1);
  DeadlineWheel wheel(kStart);
  std::vector<std::unique_ptr<Probe>> probes;
  for (int i = 0; i < 1000; ++i) {
    probes.push_back(std::make_unique<Probe>());
    probes.back()->when = kStart + milliseconds(random() % 30'000);
    wheel.Arm(*probes.back(), probes.back()->when);
  }
  for (SteadyTime now = kStart; now < kStart + seconds(31); now += DeadlineWheel::kTick) {
    wheel.Advance(now);
    for (const auto& probe : probes) {
      if (now < probe->when) {
        ASSERT_EQ(probe->fired, 0);
      }
      if (now >= probe->when + DeadlineWheel::kTick) {
        ASSERT_EQ(probe->fired, 1);
      }
    }
  }
}

TEST(DeadlineWheelTest, ALongPauseFiresEverythingThatIsDueAndNothingElse) {
  DeadlineWheel wheel(kStart);
  Probe soon;
  Probe late;
  wheel.Arm(soon, kStart + milliseconds(1));
  wheel.Arm(late, kStart + seconds(600));
  wheel.Advance(kStart + seconds(500));
  EXPECT_EQ(soon.fired, 1);
  EXPECT_EQ(late.fired, 0);
  wheel.Advance(kStart + seconds(601));
  EXPECT_EQ(late.fired, 1);
}

TEST(DeadlineWheelTest, DisarmedMovedAndDestroyedTimersDoNotFire) {
  DeadlineWheel wheel(kStart);
  Probe disarmed;
  Probe moved;
  wheel.Arm(disarmed, kStart + milliseconds(10));
  wheel.Arm(moved, kStart + milliseconds(10));
  wheel.Arm(moved, kStart + seconds(5));
  {
    Probe destroyed;
    wheel.Arm(destroyed, kStart + milliseconds(10));
  }
  DeadlineWheel::Disarm(disarmed);
  DeadlineWheel::Disarm(disarmed);
  wheel.Advance(kStart + seconds(1));
  EXPECT_EQ(disarmed.fired, 0);
  EXPECT_EQ(moved.fired, 0);
}

TEST(DeadlineWheelTest, ATimerMayArmItselfAgainForThePast) {
  DeadlineWheel wheel(kStart);
  Probe probe;
  probe.again = &wheel;
  probe.when = kStart;
  wheel.Arm(probe, kStart);
  wheel.Advance(kStart + milliseconds(20));
  EXPECT_EQ(probe.fired, 1);
  wheel.Advance(kStart + milliseconds(40));
  EXPECT_EQ(probe.fired, 2);
}

}  // namespace
}  // namespace fetchbench::native
