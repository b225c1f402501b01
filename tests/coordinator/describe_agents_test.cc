// Agents on real gRPC servers, asked all at once.

#include "coordinator/fleet/describe_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_agent.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::FakeAgent;
using ::testing::SizeIs;

TEST(DescribeAgentsTest, AnswersComeInTheOrderOfTheQuestions) {
  FakeAgent first({});
  FakeAgent second({});
  const std::vector<AgentEndpoint> endpoints{{.address = first.address(), .name = "a"},
                                             {.address = "127.0.0.1:1", .name = "gone"},
                                             {.address = second.address(), .name = "b"}};
  const std::vector<Described> described = DescribeAll(endpoints, {});
  ASSERT_THAT(described, SizeIs(3));
  ASSERT_TRUE(described[0].ok()) << described[0].status();
  EXPECT_EQ(described[0]->response.host().hostname(), "fake-host");
  EXPECT_GE(described[0]->round_trip_us, 0);
  EXPECT_TRUE(absl::IsUnavailable(described[1].status())) << described[1].status();
  EXPECT_TRUE(described[2].ok()) << described[2].status();
}

TEST(DescribeAgentsTest, PatienceWithOneThatIsNotThereEnds) {
  const std::vector<AgentEndpoint> endpoints{{.address = "127.0.0.1:1", .name = ""}};
  const auto described =
      DescribeAll(endpoints, {.answer = std::chrono::milliseconds(500), .until_there = true});
  EXPECT_TRUE(absl::IsUnavailable(described[0].status())) << described[0].status();
}

TEST(DescribeAgentsTest, NobodyIsAskedWhenNobodyIsNamed) {
  EXPECT_THAT(DescribeAll({}, {}), SizeIs(0));
}

}  // namespace
}  // namespace fetchbench::coordinator
