#include "coordinator/fleet/same_agent.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SameAgentTest : public ::testing::Test {
 protected:
  void Add(const std::string& address, const std::string& instance, const std::string& name = "") {
    endpoints_.push_back({.address = address, .name = name});
    DescribedAgent agent;
    agent.response.set_instance_id(instance);
    described_.emplace_back(std::move(agent));
  }
  void AddOneThatIsAway(const std::string& address) {
    endpoints_.push_back({.address = address, .name = ""});
    described_.emplace_back(absl::UnavailableError("connection refused"));
  }
  absl::Status Check() const { return CheckDistinct(endpoints_, described_); }

  std::vector<AgentEndpoint> endpoints_;
  std::vector<Described> described_;
};

TEST_F(SameAgentTest, ProcessesOfTheirOwnAreDistinct) {
  Add("10.0.0.1:7311", "a");
  Add("10.0.0.2:7311", "b");
  EXPECT_THAT(FindSameAgents(described_), ElementsAre(std::nullopt, std::nullopt));
  EXPECT_TRUE(Check().ok());
}

TEST_F(SameAgentTest, OneProcessAtTwoAddressesIsNamedByBoth) {
  Add("localhost:7301", "a");
  Add("10.0.0.2:7311", "b");
  Add("127.0.0.1:7301", "a");
  EXPECT_THAT(FindSameAgents(described_),
              ElementsAre(std::nullopt, std::nullopt, std::optional<size_t>(0)));
  EXPECT_TRUE(absl::IsInvalidArgument(Check()));
  EXPECT_EQ(std::string(Check().message()),
            "agent localhost:7301 is named twice: 127.0.0.1:7301 is the same one");
}

TEST_F(SameAgentTest, HostsOfAnInventoryAreNamedWithTheirAddresses) {
  Add("10.0.0.1:7311", "a", "left");
  Add("192.168.0.1:7311", "a", "right");
  EXPECT_EQ(
      std::string(Check().message()),
      "agent left at 10.0.0.1:7311 is named twice: right at 192.168.0.1:7311 is the same one");
}

TEST_F(SameAgentTest, WhoDoesNotAnswerOrDoesNotTellIsNotCompared) {
  Add("10.0.0.1:7311", "");
  Add("10.0.0.2:7311", "");
  AddOneThatIsAway("10.0.0.3:7311");
  AddOneThatIsAway("10.0.0.4:7311");
  EXPECT_TRUE(Check().ok());
}

TEST_F(SameAgentTest, AThirdAddressIsComparedWithTheFirstToo) {
  for (const char* address : {"a:1", "b:1", "c:1"}) Add(address, "one");
  EXPECT_THAT(FindSameAgents(described_),
              ElementsAre(std::nullopt, std::optional<size_t>(0), std::optional<size_t>(0)));
}

TEST_F(SameAgentTest, OfManyTheFirstAreNamed) {
  for (int i = 0; i < 51; ++i) Add(fmt::format("10.0.0.{}:1", i), "one");
  const std::string message(Check().message());
  EXPECT_THAT(message, HasSubstr("; and 42 more"));
  EXPECT_LT(message.size(), 700u);
}

}  // namespace
}  // namespace fetchbench::coordinator
