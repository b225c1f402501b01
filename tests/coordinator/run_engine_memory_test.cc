// The engine and agents whose memory is scarce.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/run_engine_fixture.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::FakeAgent;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A URL here is 22 bytes or so, and counts 256 more.
TEST_F(RunEngineTest, SmallCreditInBytesIsNeverOverdrawn) {
  const FakeAgent& agent = Add({.window_bytes = 1'000});
  ExpectComplete(Run(300), 300);
  EXPECT_EQ(agent.overdrawn_bytes(), 0);
  EXPECT_EQ(agent.overdrawn(), 0u);
}

TEST_F(RunEngineTest, AUrlBeyondAllCreditInBytesIsLentToAnAgentThatHoldsNone) {
  const FakeAgent& agent = Add({.window_bytes = 10});
  ExpectComplete(Run(300), 300);
  EXPECT_GT(agent.overdrawn_bytes(), 0);
  EXPECT_LT(agent.overdrawn_bytes(), 2 * 300) << "one at a time";
}

v1::AgentMessage TooMuchMemory() {
  v1::AgentMessage message;
  message.mutable_failed()->set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  message.mutable_failed()->set_message("its limit is 64 MiB (--memory-limit)");
  return message;
}

TEST_F(RunEngineTest, AnAgentThatWillNotBeginTheRunAgainIsGoneAndTheOtherHasItsUrls) {
  Add();
  const FakeAgent& agent = Add({.break_after = 500, .only_word_after_break = TooMuchMemory()});
  const EngineResult result = Run(20'000);
  ExpectComplete(result, 20'000);
  EXPECT_TRUE(result.agents[1].lost);
  EXPECT_THAT(result.agents[1].trouble, HasSubstr("64 MiB (--memory-limit)"));
  EXPECT_EQ(agent.starts().size(), 2u) << "it is not dialled again";
}

TEST_F(RunEngineTest, WithoutAnAgentThatWouldBeginItAgainTheRunEndsAndSaysWhy) {
  Add({.break_after = 500, .only_word_after_break = TooMuchMemory()});
  const EngineResult result = Run(20'000);
  EXPECT_EQ(result.end.end, RunEnd::kIncomplete);
  EXPECT_THAT(result.end.reason,
              AllOf(HasSubstr("no agent is left"), HasSubstr("64 MiB (--memory-limit)")));
  EXPECT_EQ(Rows(), static_cast<int64_t>(result.committed));
  EXPECT_TRUE(result.counts.Balanced());
}

TEST_F(RunEngineTest, AnAgentThatHungUpForItsMemorySaysSoWhenItIsBack) {
  v1::MemoryTrouble trouble;
  trouble.set_at_us(1'796'000'000'000'000);
  trouble.set_memory_bytes(70 << 20);
  trouble.set_limit_bytes(64 << 20);
  Add({.break_after = 500, .trouble_after_break = trouble});
  const EngineResult result = Run(2'000);
  ExpectComplete(result, 2'000);
  EXPECT_THAT(result.agents[0].trouble,
              HasSubstr("it had 70 MiB of memory, its limit is 64 MiB (--memory-limit)"));
}

}  // namespace
}  // namespace fetchbench::coordinator
