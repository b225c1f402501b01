#include "origin/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench::origin {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const auto profile = ParseProfile(text, "p.json");
  return profile.ok() ? "" : std::string(profile.status().message());
}

TEST(ProfileTest, EveryShippedProfileIsReadAndNamedLikeItsFile) {
  for (const char* name : {"published", "fast", "lan", "hostile"}) {
    const auto profile = LoadProfile(name, FETCHBENCH_DATA_DIR "/profiles");
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ(profile->sha256.size(), 64u);
  }
}

TEST(ProfileTest, AnUnknownNameListsTheKnownOnes) {
  const auto profile = LoadProfile("publishd", FETCHBENCH_DATA_DIR "/profiles");
  EXPECT_THAT(std::string(profile.status().message()), HasSubstr("fast, hostile, lan, published"));
}

TEST(ProfileTest, ErrorsNameFileAndField) {
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("p.json: not a JSON object"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("p.json: not a JSON object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("p.json: name: must be given"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","dsn":{}})"), HasSubstr("p.json: dsn: unknown field"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","dns":{"delay_ms":{"medain":1}}})"),
              HasSubstr("p.json: dns.delay_ms.medain: unknown field"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","dns":{"delay_ms":{"median":"1"}}})"),
              HasSubstr("p.json: dns.delay_ms.median: must be a number"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","tls":{"only_1.2":1.5}})"),
              HasSubstr("p.json: tls.only_1.2: must be from 0 to 1"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","dns":[]})"), HasSubstr("p.json: dns: must be an object"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","outcomes":{"nxdomian":0.1}})"),
              HasSubstr("p.json: outcomes.nxdomian: unknown field"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","outcomes":{"100":0.1}})"),
              HasSubstr("p.json: outcomes.100: unknown field"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","outcomes":{"404":0.6,"nxdomain":0.6}})"),
              HasSubstr("p.json: outcomes: shares sum to"));
  EXPECT_THAT(ErrorOf(R"({"name":"x","never_answer":"a.test"})"),
              HasSubstr("p.json: never_answer: must be an array"));
}

TEST(ProfileTest, DistributionsAreLognormalAndCut) {
  const Distribution d{.median = 100, .sigma = 1, .min = 50, .max = 300};
  EXPECT_NEAR(d.At(0.5), 100, 1e-6);
  EXPECT_NEAR(d.At(0.8413447), 271.8, 0.1);  // one sigma
  EXPECT_EQ(d.At(0.001), 50);
  EXPECT_EQ(d.At(0.999), 300);
  const Distribution constant{.median = 7, .sigma = 0, .min = 0, .max = 7};
  EXPECT_EQ(constant.At(0.01), 7);
}

}  // namespace
}  // namespace fetchbench::origin
