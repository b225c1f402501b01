#include "common/docker/engine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/docker/engine_call.h"

namespace fetchbench::docker {
namespace {

using ::testing::HasSubstr;

TEST(EngineJsonTest, ContainersStateAndAddresses) {
  const auto info = ParseContainer(
      R"({"Id":"abc","Name":"/x","State":{"Status":"exited","Running":false,"OOMKilled":true,)"
      R"("ExitCode":137,"Error":"","Pid":0},"NetworkSettings":{"Networks":{"n":{"IPAddress":"10.1.2.3"}}}})");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->name, "x");
  EXPECT_TRUE(info->oom_killed);
  EXPECT_EQ(info->exit_code, 137);
  EXPECT_EQ(info->addresses.at("n"), "10.1.2.3");
}

TEST(EngineJsonTest, WhatIsMissingOrOfAnotherKindStaysEmpty) {
  EXPECT_TRUE(ParseContainer(R"({"State":7,"NetworkSettings":{"Networks":null}})").ok());
  EXPECT_TRUE(ParseStats(R"({"memory_stats":{}})").ok());
  EXPECT_TRUE(ParseImage(R"({"Id":5,"Config":null})").ok());
  EXPECT_TRUE(ParseNetworks("null")->empty());
  EXPECT_TRUE(ParseContainers(R"([1,{"Names":[],"Labels":null}])").ok());
  EXPECT_FALSE(ParseContainer("[]").ok());
  EXPECT_FALSE(ParseInfo("<html>").ok());
}

TEST(EngineJsonTest, StatsAreInMicroseconds) {
  const auto stats = ParseStats(
      R"({"cpu_stats":{"cpu_usage":{"usage_in_usermode":3000000,"usage_in_kernelmode":1000000}},)"
      R"("memory_stats":{"usage":5,"max_usage":9}})");
  EXPECT_EQ(stats->user_us, 3'000);
  EXPECT_EQ(stats->system_us, 1'000);
  EXPECT_EQ(stats->memory_peak_bytes, 9);
}

TEST(EngineJsonTest, BuildLines) {
  EXPECT_EQ(ParseBuildLine(R"({"stream":"Step 1/2 : FROM x\n"})").text, "Step 1/2 : FROM x");
  EXPECT_EQ(ParseBuildLine(R"({"aux":{"ID":"sha256:1"}})").image_id, "sha256:1");
  EXPECT_EQ(ParseBuildLine(R"({"errorDetail":{"message":"m"},"error":"m"})").error, "m");
  EXPECT_EQ(ParseBuildLine(R"({"status":"Pulling","id":"ab"})").text, "ab: Pulling");
  EXPECT_EQ(ParseBuildLine(R"({"status":"sha256:2"})").image_id, "sha256:2");
  EXPECT_EQ(ParseBuildLine("no json").text, "no json");
  EXPECT_EQ(ParseBuildLine(R"({"stream":"\u001b[91mgone wrong\n\u001b[0m"})").text, "gone wrong");
  EXPECT_EQ(ParseBuildLine(R"({"stream":"a\u001b[1;32mb\u001b["})").text, "ab");
}

TEST(ReplyErrorTest, NamesCallAndReasonAndWhatToDo) {
  const absl::Status s =
      ReplyError("looking for image x", 404, R"({"message":"No such image: x"})");
  EXPECT_TRUE(absl::IsNotFound(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("looking for image x"));
  EXPECT_THAT(std::string(s.message()), HasSubstr("No such image: x"));
  EXPECT_THAT(std::string(s.message()), HasSubstr("load it"));
  EXPECT_TRUE(absl::IsFailedPrecondition(ReplyError("a", 409, "{}")));
  EXPECT_TRUE(absl::IsInternal(ReplyError("a", 500, "not json\n")));
}

}  // namespace
}  // namespace fetchbench::docker
