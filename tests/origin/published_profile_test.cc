#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "origin/planner.h"
#include "origin/profile.h"

// What a perfect client would report over the shipped list: the figures of the published run.
namespace fetchbench::origin {
namespace {

constexpr Micros kTimeout{5'000'000};

class PublishedProfileTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    auto profile = LoadProfile("published", FETCHBENCH_DATA_DIR "/profiles");
    ASSERT_TRUE(profile.ok()) << profile.status();
    profile_ = *std::move(profile);
    std::ifstream list(FETCHBENCH_DATA_DIR "/urls.txt");
    constexpr std::string_view kScheme = "https://";
    for (std::string line; std::getline(list, line);) {
      if (!line.starts_with(kScheme)) continue;
      plans_.push_back(PlanHost(profile_, GetParam(), NormalHost(line.substr(kScheme.size()))));
      fetches_.push_back(ExpectFetch(plans_.back(), kTimeout));
    }
    ASSERT_EQ(plans_.size(), 10'000u);
  }

  template <typename Predicate>
  double Share(Predicate predicate) const {
    return static_cast<double>(std::count_if(fetches_.begin(), fetches_.end(), predicate)) /
           static_cast<double>(fetches_.size());
  }
  double StatusClass(int hundreds) const {
    return Share([=](const Expectation& e) {
      return e.outcome == Outcome::kStatus && e.status / 100 == hundreds;
    });
  }

  Profile profile_;
  std::vector<HostPlan> plans_;
  std::vector<Expectation> fetches_;
};

TEST_P(PublishedProfileTest, SharesAreThoseOfThePublishedRun) {
  EXPECT_NEAR(StatusClass(2), 0.798, 0.01);
  EXPECT_NEAR(StatusClass(4), 0.097, 0.01);
  EXPECT_NEAR(StatusClass(5), 0.0021, 0.0015);
  EXPECT_NEAR(StatusClass(3), 0.0001, 0.0005);
  const double failed = Share([](const Expectation& e) { return e.outcome != Outcome::kStatus; });
  EXPECT_NEAR(failed, 0.103, 0.01);
  const double dns = Share([](const Expectation& e) {
    return e.outcome == Outcome::kDnsNotFound || e.outcome == Outcome::kDnsFailure ||
           e.outcome == Outcome::kDnsTimeout;
  });
  EXPECT_NEAR(dns / failed, 0.75, 0.05);
}

TEST_P(PublishedProfileTest, EveryKindOfFailureOccurs) {
  std::map<Outcome, int> seen;
  for (const Expectation& e : fetches_) ++seen[e.outcome];
  for (const Outcome outcome :
       {Outcome::kDnsNotFound, Outcome::kDnsFailure, Outcome::kDnsTimeout, Outcome::kConnectRefused,
        Outcome::kConnectTimeout, Outcome::kTlsCertificate, Outcome::kTlsHandshake,
        Outcome::kConnectionReset, Outcome::kTimeoutBeforeHeaders, Outcome::kTimeoutInBody}) {
    EXPECT_GT(seen[outcome], 0) << OutcomeName(outcome);
  }
}

TEST_P(PublishedProfileTest, TheMeanDurationIsThatOfThePublishedRun) {
  double sum = 0;
  for (const Expectation& e : fetches_) sum += static_cast<double>(e.duration.count()) / 1000;
  const double mean = sum / static_cast<double>(fetches_.size());
  // Slightly below 680 ms, because a client adds its own few milliseconds.
  EXPECT_NEAR(mean, 670, 35);
  RecordProperty("mean_ms", std::to_string(mean));
}

TEST_P(PublishedProfileTest, DowngradesHaveTheirShare) {
  const auto to_http = std::count_if(plans_.begin(), plans_.end(), [](const HostPlan& p) {
    return p.dns.kind == DnsKind::kAnswer && p.http.redirect == RedirectKind::kToHttp &&
           ExpectFetch(p, kTimeout).status != 0;
  });
  EXPECT_NEAR(static_cast<double>(to_http) / 10'000, 0.028, 0.005);
}

TEST_P(PublishedProfileTest, BodiesAreThoseOfThePublishedRun) {
  std::vector<double> sizes;
  double sum = 0;
  for (const Expectation& e : fetches_) {
    if (e.outcome != Outcome::kStatus || e.status / 100 != 2) continue;
    sizes.push_back(static_cast<double>(e.body_bytes));
    sum += sizes.back();
  }
  std::sort(sizes.begin(), sizes.end());
  EXPECT_NEAR(sizes[sizes.size() / 2], 34'000, 3'500);
  // The mean of 8,000 draws with sigma 2.0 has a standard error of 8 %.
  EXPECT_NEAR(sum / static_cast<double>(sizes.size()), 256'000, 77'000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PublishedProfileTest, ::testing::Values(1, 2, 3));

TEST(PublishedProfileHosts, TheTwoFamousOnesNeverAnswer) {
  const auto profile = LoadProfile("published", FETCHBENCH_DATA_DIR "/profiles");
  ASSERT_TRUE(profile.ok()) << profile.status();
  for (const char* host :
       {"edwardsnowden.com", "www.edwardsnowden.com", "home.comcast.com", "www.home.comcast.com"}) {
    for (const uint64_t seed : {1, 2, 99}) {
      const Expectation e = ExpectFetch(PlanHost(*profile, seed, host), kTimeout);
      EXPECT_EQ(e.outcome, Outcome::kConnectTimeout) << host;
      EXPECT_EQ(e.duration, kTimeout) << host;
    }
  }
}

}  // namespace
}  // namespace fetchbench::origin
