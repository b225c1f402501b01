// Containers that end, hang or talk nonsense: every URL gets its one record, the agent stays well,
// and nothing is left behind.
#include "tests/agent/container/container_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string CrashText(const test::RunResult& result) {
  for (const auto& [index, record] : result.records) {
    if (record.outcome == Outcome::kClientCrashed) return record.error;
  }
  return "no crash";
}

TEST_F(ContainerTest, OneThatExitsEarlyIsNamedWithItsLastWords) {
  const test::RunResult result = RunContainer("exit-after=3", 10);
  ASSERT_TRUE(result.failed) << result.status.error_message();
  EXPECT_THAT(result.failed->message(),
              AllOf(HasSubstr("test/scripted"), HasSubstr("exit code 3")));
  EXPECT_THAT(result.failed->target_stderr(), HasSubstr("segmentation of my memory"));
  EXPECT_EQ(result.records.size(), 10);
  EXPECT_EQ(Count(result, Outcome::kClientCrashed), 7);
  EXPECT_THAT(CrashText(result), HasSubstr("target test/scripted ended with exit code 3"));
  ExpectNothingLeft();
}

TEST_F(ContainerTest, OneThatHangsIsKilled) {
  server_.reset();
  config_.limits.hang_grace = std::chrono::milliseconds(300);
  Serve();
  v1::Start start = ContainerStart("hang-after=2 ignore-term");
  start.mutable_options()->set_timeout_ms(200);
  const test::RunResult result = Run(start, test::MakeUrls(5));
  ASSERT_TRUE(result.failed) << result.status.error_message();
  EXPECT_THAT(result.failed->message(), HasSubstr("gave no record"));
  EXPECT_EQ(result.records.size(), 5);
  EXPECT_EQ(result.failed->totals().target_exit_code(), -9);
  ExpectNothingLeft();
}

TEST_F(ContainerTest, OneThatIgnoresTheEndOfItsInputIsStopped) {
  server_.reset();
  config_.limits.exit_grace = std::chrono::milliseconds(200);
  Serve();
  const test::RunResult result = RunContainer("stay", 5);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(Count(result, Outcome::kStatus), 5);
  EXPECT_NE(result.finished->target_exit_code(), 0);
  ExpectNothingLeft();
}

TEST_F(ContainerTest, GarbageIsCountedAndShown) {
  const test::RunResult result = RunContainer("garbage=2", 5);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(Count(result, Outcome::kStatus), 5);
  EXPECT_EQ(result.finished->unparsable_lines(), 10);
  EXPECT_THAT(result.finished->target_stderr(), HasSubstr("noise"));
}

TEST_F(ContainerTest, HalfALineAtTheEndIsNoRecord) {
  const test::RunResult result = RunContainer("half-line", 3);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(result.records.size(), 3);
  EXPECT_EQ(result.finished->unparsable_lines(), 1);
  EXPECT_EQ(result.finished->target_exit_code(), 1);
}

TEST_F(ContainerTest, AHundredMegabytesWithoutALineEndAreBounded) {
  const test::RunResult result = RunContainer("long-line=100000000", 3);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(Count(result, Outcome::kStatus), 3);
  EXPECT_EQ(result.finished->unparsable_lines(), 1);
  EXPECT_LT(ReadOwnUsage().rss_bytes, 500U << 20);
}

TEST_F(ContainerTest, UrlsNeverAskedForAndAnswersTwiceAreSurplus) {
  const test::RunResult result = RunContainer("unasked twice", 4);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(result.records.size(), 4);
  EXPECT_EQ(result.finished->surplus_lines(), 5);
}

TEST_F(ContainerTest, OneThatRunsOutOfMemorySaysSo) {
  v1::Start start = ContainerStart("eat=200");
  start.mutable_container()->set_memory_bytes(64 << 20);
  const test::RunResult result = Run(start, test::MakeUrls(4));
  ASSERT_TRUE(result.failed) << result.status.error_message();
  EXPECT_THAT(result.failed->message(), HasSubstr("out of memory, its limit is 64 MiB"));
  EXPECT_EQ(Count(result, Outcome::kClientCrashed), 4);
  EXPECT_EQ(result.failed->totals().target_exit_code(), -9);
  ExpectNothingLeft();
}

TEST_F(ContainerTest, OneThatIsKilledFromOutsideFails) {
  test::RunStream stream(*stub_, ContainerStart("stay"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  const auto own = OwnContainers();
  ASSERT_EQ(own.size(), 1);
  ASSERT_TRUE(Get(client_.KillContainer(own.front().id, "SIGKILL")).ok());
  const auto failed = stream.ReadUntil(v1::AgentMessage::kFailed);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->failed().totals().target_exit_code(), -9);
  ExpectNothingLeft();
}

TEST_F(ContainerTest, OneThatIsRemovedFromOutsideFails) {
  test::RunStream stream(*stub_, ContainerStart("stay"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  const auto own = OwnContainers();
  ASSERT_EQ(own.size(), 1);
  ASSERT_TRUE(Get(client_.RemoveContainer(own.front().id)).ok());
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kFailed));
  ExpectNothingLeft();
}

TEST_F(ContainerTest, TheNextRunAfterATroubledOneGoesWell) {
  EXPECT_TRUE(RunContainer("exit-after=0", 2).failed);
  WaitUntilFree();
  EXPECT_TRUE(RunContainer("", 2).finished);
}

}  // namespace
}  // namespace fetchbench::agent
