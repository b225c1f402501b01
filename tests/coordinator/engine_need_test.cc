#include "coordinator/cli/engine_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::HasSubstr;

std::string Answer(const std::vector<std::string>& arguments) {
  TargetInfo go{"go/net-http", "Go", "net/http"};
  go.aliases = {"go"};
  go.folder = "/lib/go/net-http";
  const Environment none = [](std::string_view) { return std::optional<std::string>(); };
  const TargetRegistry targets({go});
  const auto options = ParseOptions(arguments, none, targets);
  if (!options.ok()) return std::string(options.status().message());
  const auto answer = AnswerEngineQuestion(*options, targets);
  return answer.ok() ? *answer : std::string(answer.status().message());
}

TEST(EngineNeedTest, OnlyTargetsInContainersNeedAnEngine) {
  EXPECT_EQ(Answer({"run", "go"}), "yes\n");
  EXPECT_EQ(Answer({"run", "--target=go", "--limit", "5"}), "yes\n");
  EXPECT_EQ(Answer({"run", "native", "--user-agent", "go"}), "no\n");
  EXPECT_EQ(Answer({"verify", "native", "--target", "go"}), "yes\n");
  EXPECT_EQ(Answer({"verify", "native"}), "no\n");
}

TEST(EngineNeedTest, AgentsElsewhereHaveTheirOwn) {
  EXPECT_EQ(Answer({"run", "go", "--agents", "far:1", "--origin", "far:2"}), "no\n");
  EXPECT_EQ(Answer({"run", "go", "--agents", "127.0.0.1:7311"}), "no\n");
  EXPECT_EQ(Answer({"run", "go", "--inventory", "hosts"}), "no\n");
}

TEST(EngineNeedTest, WhatNobodyNamedGoesWithoutWhereThereIsNone) {
  const test::TempFolder folder;
  folder.Write("all.json", R"([{"name": "native"}, {"name": "go"}])");
  folder.Write("native.json", R"([{"name": "native"}])");
  const std::string all = folder.File("all.json");
  EXPECT_EQ(Answer({"verify"}), "maybe\n");
  EXPECT_EQ(Answer({"bench", "--settings", all}), "maybe\n");
  EXPECT_EQ(Answer({"bench", "--settings", folder.File("native.json")}), "no\n");
  EXPECT_EQ(Answer({"bench", "--settings", all, "--rounds", "1", "native"}), "no\n");
  EXPECT_EQ(Answer({"bench", "--settings", all, "go"}), "yes\n");
}

TEST(EngineNeedTest, HelpNeedsNone) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--help"}, {"run", "go", "--help"}, {"targets"}}) {
    EXPECT_EQ(Answer(arguments), "no\n") << (arguments.empty() ? "" : arguments.back());
  }
}

TEST(EngineNeedTest, WhatABenchmarkWouldRefuseIsSaid) {
  const test::TempFolder folder;
  folder.Write("settings.json", R"([{"name": "native"}])");
  const std::string settings = folder.File("settings.json");
  EXPECT_THAT(Answer({"bench", "--settings", "/does/not/exist"}), HasSubstr("/does/not/exist"));
  EXPECT_THAT(Answer({"bench", "nobody"}), HasSubstr("'nobody'"));
  EXPECT_THAT(Answer({"bench", "--settings", settings, "--urls", "/no/list"}),
              HasSubstr("/no/list"));
  EXPECT_THAT(Answer({"bench", "--settings", settings, "--urls", "-"}), HasSubstr("--urls -"));
  EXPECT_EQ(Answer({"bench", "--settings", settings, "--urls", settings}), "no\n");
}

}  // namespace
}  // namespace fetchbench::coordinator
