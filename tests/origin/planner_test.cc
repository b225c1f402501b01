#include "origin/planner.h"

#include <gtest/gtest.h>

#include "origin/stable_hash.h"

namespace fetchbench::origin {
namespace {

Profile Hostile() {
  auto profile = LoadProfile("hostile", FETCHBENCH_DATA_DIR "/profiles");
  EXPECT_TRUE(profile.ok()) << profile.status();
  return *std::move(profile);
}

TEST(StableHashTest, ValuesAreFixedForEver) {
  // If these change, every published result changes its meaning: do not adapt them.
  EXPECT_EQ(StableHash(1, "outcome", "google.com"), 6329955311275672613u);
  EXPECT_EQ(StableHash(2, "outcome", "google.com"), 16439079755084507283u);
  EXPECT_EQ(StableHash(1, "", ""), 18400717532445449562u);
  EXPECT_NE(StableHash(1, "ab", "c"), StableHash(1, "a", "bc"));
}

TEST(StableHashTest, UniformsFillTheOpenInterval) {
  double sum = 0;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const double u = StableUniform(7, "x", "host" + std::to_string(i) + ".test");
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.01);
}

TEST(PlannerTest, APlanIsAFunctionOfSeedAndSite) {
  const Profile profile = Hostile();
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example.net";
    EXPECT_EQ(PlanHost(profile, 5, host), PlanHost(profile, 5, host));
    if (PlanHost(profile, 5, host) != PlanHost(profile, 6, host)) ++differ;
  }
  EXPECT_GT(differ, 190);
}

TEST(PlannerTest, WwwSharesThePlanOfItsSite) {
  const Profile profile = Hostile();
  HostPlan apex = PlanHost(profile, 1, "example.com");
  HostPlan www = PlanHost(profile, 1, "www.example.com");
  apex.http.redirect = www.http.redirect = RedirectKind::kNone;
  EXPECT_EQ(apex, www);
  EXPECT_EQ(SiteOf("www.example.com"), "example.com");
  EXPECT_EQ(SiteOf("www.com"), "www.com");
  EXPECT_EQ(SiteOf("wwwx.example.com"), "wwwx.example.com");
}

TEST(PlannerTest, HostsAreNormalisedOnce) {
  EXPECT_EQ(NormalHost("EXAMPLE.com."), "example.com");
  EXPECT_EQ(NormalHost(""), "");
}

TEST(PlannerTest, OnlyRegisteredDomainsAreSentToWww) {
  Profile profile;
  profile.redirect_to_www = 1;
  EXPECT_EQ(PlanHost(profile, 1, "example.com").http.redirect, RedirectKind::kToWww);
  EXPECT_EQ(PlanHost(profile, 1, "example.co.uk").http.redirect, RedirectKind::kToWww);
  EXPECT_EQ(PlanHost(profile, 1, "fonts.example.com").http.redirect, RedirectKind::kNone);
  EXPECT_EQ(PlanHost(profile, 1, "localhost").http.redirect, RedirectKind::kNone);
}

TEST(PlannerTest, ABodyEndedByCloseIsEndedWithCloseNotify) {
  Profile profile;
  profile.tls_no_close_notify = 1;
  EXPECT_FALSE(PlanHost(profile, 1, "a.test").tls.close_notify);
  profile.close_delimited = 1;
  EXPECT_TRUE(PlanHost(profile, 1, "a.test").tls.close_notify);
}

TEST(PlannerTest, AKnownHostKeepsItsPlan) {
  auto profile = LoadProfile("published", FETCHBENCH_DATA_DIR "/profiles");
  ASSERT_TRUE(profile.ok()) << profile.status();
  const HostPlan plan = PlanHost(*profile, 1, "wikipedia.org");
  EXPECT_EQ(plan.dns.delay, Micros(100'428));
  EXPECT_EQ(plan.tls.delay, Micros(69'203));
  EXPECT_EQ(plan.http.first_byte, Micros(141'093));
  EXPECT_EQ(plan.http.body_bytes, 107'744u);
}

TEST(ExpectFetchTest, SumsTheDelaysOfAllHops) {
  HostPlan plan;
  plan.dns.delay = Micros(10);
  plan.tls.delay = Micros(200);
  plan.http.first_byte = Micros(3'000);
  EXPECT_EQ(ExpectFetch(plan, Micros(1'000'000)).duration, Micros(3'210));
  plan.http.redirect = RedirectKind::kToWww;
  EXPECT_EQ(ExpectFetch(plan, Micros(1'000'000)).duration, Micros(6'420));
  plan.http.redirect = RedirectKind::kToHttp;
  EXPECT_EQ(ExpectFetch(plan, Micros(1'000'000)).duration, Micros(6'210));
  plan.http.redirect = RedirectKind::kToPath;
  plan.http.keep_alive = false;
  EXPECT_EQ(ExpectFetch(plan, Micros(1'000'000)).duration, Micros(6'410));
}

TEST(ExpectFetchTest, DelaysBeyondTheTimeoutAreTimeouts) {
  HostPlan plan;
  plan.http.first_byte = Micros(900);
  plan.http.body_bytes = 1'000;
  plan.http.bytes_per_second = 1'000'000;
  EXPECT_EQ(ExpectFetch(plan, Micros(5'000)).outcome, Outcome::kStatus);
  EXPECT_EQ(ExpectFetch(plan, Micros(1'500)).outcome, Outcome::kTimeoutInBody);
  EXPECT_EQ(ExpectFetch(plan, Micros(800)).outcome, Outcome::kTimeoutBeforeHeaders);
  EXPECT_EQ(ExpectFetch(plan, Micros(800)).duration, Micros(800));
}

}  // namespace
}  // namespace fetchbench::origin
