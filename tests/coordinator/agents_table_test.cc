#include "coordinator/fleet/agents_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kSince = 1'796'000'000'000'000;  // 2026-11-30

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class AgentsTableTest : public ::testing::Test {
 protected:
  DescribedAgent& Add(const std::string& name, const std::string& address) {
    endpoints_.push_back({.address = address, .name = name});
    DescribedAgent agent;
    agent.response.set_version("0.1.0");
    agent.response.set_load_permille(250);
    agent.response.add_targets("native");
    v1::HostFacts& host = *agent.response.mutable_host();
    host.set_hostname("machine");
    host.set_cpus(1);
    host.set_memory_bytes(2'000'000'000);
    agent.clock_offset_us = -1'500;
    described_.emplace_back(std::move(agent));
    return *described_.back();
  }
  void AddThree() {
    Add("web-1", "10.0.0.1:7311");
    DescribedAgent& busy = Add("web-2", "10.0.0.2:7311");
    busy.response.set_busy_run_id("20261130T204000Z-3fa9c1");
    busy.response.set_busy_since_us(kSince);
    busy.response.mutable_host()->set_docker("20.10.24");
    busy.response.add_targets("rust/reqwest");
    busy.response.set_certificate_not_after_us(kSince);
    endpoints_.push_back({.address = "10.0.0.3:7311", .name = "web-3"});
    described_.emplace_back(
        absl::UnavailableError("failed to connect to all addresses: Connection refused"));
  }
  std::string Text(int width) const {
    TextStyle style;
    style.width = width;
    return AgentsText(endpoints_, described_, style);
  }

  std::vector<AgentEndpoint> endpoints_;
  std::vector<Described> described_;
};

TEST_F(AgentsTableTest, TellsWhoHadTooMuchMemory) {
  AddThree();
  v1::MemoryTrouble& trouble = *described_[1]->response.mutable_memory_trouble();
  trouble.set_at_us(kSince);
  trouble.set_memory_bytes(70 << 20);
  trouble.set_limit_bytes(64 << 20);
  const std::string text =
      "hung up on everybody at 2026-11-30T00:53:20Z: it had 70 MiB of memory, its limit is 64 MiB "
      "(--memory-limit)";
  EXPECT_EQ(LinesOf(Text(240)).back(), "web-2 " + text);
  EXPECT_THAT(LinesOf(AgentsLines(endpoints_, described_))[1], HasSubstr("; " + text));
  EXPECT_THAT(LinesOf(AgentsLines(endpoints_, described_))[0], Not(HasSubstr("hung up")));
  trouble.set_dropped_run_id("r");
  EXPECT_THAT(Text(240), HasSubstr("hung up on everybody and dropped its run at"));
  const auto json = boost::json::parse(AgentsJson(endpoints_, described_));
  EXPECT_EQ(json.at(1).at("memory_trouble").at("limit_bytes").to_number<int64_t>(), 64 << 20);
  EXPECT_EQ(json.at(1).at("memory_trouble").at("dropped_run").as_string(), "r");
  EXPECT_FALSE(json.at(0).as_object().contains("memory_trouble"));
}

TEST_F(AgentsTableTest, TellsWhoIsThereTwice) {
  AddThree();
  for (const size_t i : {0, 1}) described_[i]->response.set_instance_id("one");
  EXPECT_EQ(LinesOf(Text(240)).back(), "web-2 is the same agent as web-1");
  const std::vector<std::string> lines = LinesOf(AgentsLines(endpoints_, described_));
  EXPECT_THAT(lines[1], HasSubstr("; is the same agent as web-1; fetchbench 0.1.0"));
  EXPECT_THAT(lines[0], Not(HasSubstr("same agent")));
  const boost::json::value json = boost::json::parse(AgentsJson(endpoints_, described_));
  EXPECT_EQ(json.at(1).at("same_as").as_string(), "web-1");
  EXPECT_FALSE(json.at(0).as_object().contains("same_as"));
}

TEST_F(AgentsTableTest, AWideTerminalGetsOneTable) {
  AddThree();
  const std::string text = Text(240);
  const std::vector<std::string> lines = LinesOf(text);
  ASSERT_EQ(lines.size(), 8u) << text;
  EXPECT_THAT(lines[3],
              AllOf(HasSubstr("web-1"), HasSubstr("free"), HasSubstr("0.1.0"), HasSubstr("2.00 GB"),
                    HasSubstr("none"), HasSubstr("0.25"), HasSubstr("-1.50 ms")));
  EXPECT_THAT(lines[4], AllOf(HasSubstr("busy with run 20261130T204000Z-3fa9c1 since 2026-"),
                              HasSubstr("20.10.24"), HasSubstr("native, rust/reqwest")));
  EXPECT_THAT(lines[5], HasSubstr("not reachable: failed to connect"));
  EXPECT_EQ(lines[7], "3 agents: 1 free, 1 busy, 1 not reachable");
}

TEST_F(AgentsTableTest, NothingIsWiderThanTheTerminal) {
  AddThree();
  for (const int width : {80, 100, 120, 200}) {
    const std::string text = Text(width);
    for (const std::string& line : LinesOf(text)) {
      EXPECT_LE(DisplayWidth(line), width) << text;
    }
    EXPECT_THAT(text, HasSubstr("rust/reqwest"));
  }
  EXPECT_THAT(Text(80), HasSubstr("targets ready: native on all, rust/reqwest on 1"));
}

TEST_F(AgentsTableTest, AtEightyColumnsAreTablesUnderEachOther) {
  AddThree();
  for (Described& agent : described_) {
    if (agent.ok()) agent->response.mutable_host()->set_docker("20.10.24+dfsg1");
  }
  const std::string text = Text(80);
  EXPECT_THAT(text, AllOf(HasSubstr("│ agent │ address"), HasSubstr("│ agent │ version"),
                          HasSubstr("certificate")));
  for (const std::string& line : LinesOf(text)) EXPECT_THAT(line, Not(HasSubstr("; fetchbench")));
}

TEST_F(AgentsTableTest, LinesHaveEverythingOfAnAgent) {
  AddThree();
  const std::vector<std::string> lines = LinesOf(AgentsLines(endpoints_, described_));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("web-1 at 10.0.0.1:7311: free; fetchbench 0.1.0; machine"));
  EXPECT_THAT(lines[0], HasSubstr("docker none; load 0.25; clock -1.50 ms; certificate until -"));
  EXPECT_THAT(lines[1], HasSubstr("certificate until 2026-"));
  EXPECT_THAT(lines[2], HasSubstr("10.0.0.3:7311: not reachable"));
}

TEST_F(AgentsTableTest, WhatAgentsSayOfThemselvesCannotReachTheTerminalsControls) {
  Add("", "10.0.0.1:7311").response.set_version("1\x1b[2J\n2");
  EXPECT_THAT(Text(240), Not(HasSubstr("\x1b")));
  EXPECT_THAT(AgentsLines(endpoints_, described_), Not(HasSubstr("\x1b")));
}

TEST_F(AgentsTableTest, JsonHasAnObjectForEachAgent) {
  AddThree();
  const boost::json::value json = boost::json::parse(AgentsJson(endpoints_, described_));
  ASSERT_EQ(json.as_array().size(), 3u);
  const auto& free = json.as_array()[0].as_object();
  EXPECT_EQ(free.at("name").as_string(), "web-1");
  EXPECT_TRUE(free.at("busy_run").is_null());
  EXPECT_TRUE(free.at("docker").is_null());
  EXPECT_TRUE(free.at("certificate_not_after_us").is_null());
  EXPECT_EQ(free.at("clock_offset_us").to_number<int>(), -1500);
  EXPECT_EQ(free.at("load").as_double(), 0.25);
  const auto& lost = json.as_array()[2].as_object();
  EXPECT_FALSE(lost.at("reachable").as_bool());
  EXPECT_THAT(std::string(lost.at("trouble").as_string()), HasSubstr("refused"));
}

TEST_F(AgentsTableTest, AgentsOfAnotherVersionAreNamedWithWhatMendsThem) {
  AddThree();
  EXPECT_TRUE(CheckVersions(endpoints_, described_, "0.1.0").ok());
  described_[0]->response.set_version("0.1.1");
  const absl::Status status = CheckVersions(endpoints_, described_, "0.1.0");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("agent web-1 runs fetchbench 0.1.1"),
                                                   HasSubstr("this coordinator is 0.1.0"),
                                                   HasSubstr("`bin/provision --upgrade web-1`")));
}

TEST_F(AgentsTableTest, OfManyWithAnotherVersionTheFirstAreNamed) {
  for (int i = 0; i < 50; ++i) Add(fmt::format("web-{}", i), fmt::format("10.0.0.{}:1", i));
  const std::string message(CheckVersions(endpoints_, described_, "9").message());
  EXPECT_THAT(message, HasSubstr("and 42 more"));
  EXPECT_LT(message.size(), 700u);
}

TEST(ClockOffsetTest, IsTakenFromTheMiddleOfTheCall) {
  // Sent at 100, there after 10; the agent's clock is 1,000 ahead and it takes 500 to answer.
  const CallTimes times{
      .sent_us = 100, .arrived_us = 1'110, .answered_us = 1'610, .received_us = 620};
  EXPECT_EQ(ClockOffsetUs(times), 1'000);
  EXPECT_EQ(RoundTripUs(times), 20);
}

TEST(ClockOffsetTest, AnAgentThatDoesNotTellWhenItHeardOfTheCallIsTakenToAnswerAtOnce) {
  const CallTimes times{.sent_us = 100, .arrived_us = 0, .answered_us = -4'890, .received_us = 120};
  EXPECT_EQ(ClockOffsetUs(times), -5'000);
  EXPECT_EQ(RoundTripUs(times), 20);
}

}  // namespace
}  // namespace fetchbench::coordinator
