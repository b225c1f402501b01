#include "coordinator/ui/progress_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "coordinator/ui/agent_lines.h"
#include "coordinator/ui/rate_meter.h"
#include "coordinator/ui/text.h"
#include "golden.h"
#include "samples.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(RenderProgressTest, LooksAsItShould) {
  const struct {
    const char* name;
    size_t agents;
    TextStyle style;
  } cases[] = {{"progress_1_agent_80x24", 1, {.width = 80, .height = 24}},
               {"progress_1_agent_200x50", 1, {.width = 200, .height = 50}},
               {"progress_50_agents_80x24", 50, {.width = 80, .height = 24}},
               {"progress_50_agents_200x50", 50, {.width = 200, .height = 50}},
               {"progress_50_agents_40x10", 50, {.width = 40, .height = 10}},
               {"progress_2_agents_80x24_ascii", 2, {.width = 80, .height = 24, .utf8 = false}},
               {"progress_7_agents_80x24_colour", 7, {.width = 80, .height = 24, .colour = true}}};
  for (const auto& c : cases) {
    const std::string actual = Text(RenderProgress(SampleSnapshot(c.agents), c.style));
    EXPECT_EQ(actual, Golden(c.name, actual)) << c.name;
  }
}

// Every size, with texts that are long, wide, hostile or missing.
TEST(RenderProgressTest, FitsEveryTerminal) {
  std::vector<ProgressSnapshot> snapshots = {ProgressSnapshot(), SampleSnapshot(1),
                                             SampleSnapshot(50), SampleSnapshot(1'000)};
  ProgressSnapshot hostile = SampleSnapshot(3);
  hostile.title = "日本語\x1b[2J" + std::string(300, 'x');
  hostile.phase = std::string(90, 'p');
  hostile.notices = {std::string(700, 'n'), "\r\n\n", "b", "never shown"};
  hostile.agents[0].name = std::string(400, 'h');
  hostile.agents[1].name = "\x1b]0;title\x07";
  hostile.agents[1].note = "日本語\u202E";
  hostile.outcomes.fill(123'456'789);
  hostile.total = 3;
  hostile.rate_now = 1e12;
  snapshots.push_back(hostile);
  for (const ProgressSnapshot& snapshot : snapshots) {
    for (const int height : {1, 2, 5, 10, 24, 50, 200}) {
      for (int width = 20; width <= 500; width += width < 120 ? 1 : 38) {
        for (const bool utf8 : {false, true}) {
          const TextStyle style = {.width = width, .height = height, .colour = utf8, .utf8 = utf8};
          const std::vector<std::string> lines = RenderProgress(snapshot, style);
          ASSERT_GE(lines.size(), 1U);
          ASSERT_LE(static_cast<int>(lines.size()), std::max(1, height - 1));
          for (const std::string& line : lines) {
            ASSERT_LE(DisplayWidth(line), width - 1) << line;
            ASSERT_EQ(line.find_first_of("\r\n\t\a"), std::string::npos) << line;
            if (!utf8) {
              ASSERT_EQ(Harmless(line, /*ascii=*/true), line) << "escape codes or beyond ASCII";
            }
          }
        }
      }
    }
  }
}

TEST(RenderProgressTest, TroubledAgentsComeFirstWhereNotAllFit) {
  const std::vector<std::string> lines =
      RenderAgents(SampleSnapshot(50).agents, 6, 120, {.width = 120, .height = 24});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("state"), HasSubstr("10.0.3.7:7311"),
                                 HasSubstr("10.0.3.19:7311"), HasSubstr("10.0.3.31:7311"),
                                 HasSubstr("10.0.3.1:7311"), HasSubstr("+ 46 more: 46 running")));
}

TEST(RenderProgressTest, AgentsKeepTheirOrderWhereAllFit) {
  const std::vector<std::string> lines =
      RenderAgents(SampleSnapshot(8).agents, 20, 120, {.width = 120, .height = 24});
  ASSERT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines[1], HasSubstr("10.0.3.1:"));
  EXPECT_THAT(lines[7], AllOf(HasSubstr("10.0.3.7:"), HasSubstr("lost"), HasSubstr("\\x1b[2J")));
}

TEST(RenderProgressTest, OneRowSumsAgentsUp) {
  EXPECT_THAT(RenderAgents(SampleSnapshot(50).agents, 1, 79, {}),
              ElementsAre("50 agents: 48 running, 1 reconnecting, 1 lost"));
}

TEST(RenderProgressTest, AListStillBeingReadHasNoShare) {
  ProgressSnapshot s = SampleSnapshot(1);
  s.total.reset();
  s.eta_s.reset();
  const std::string text = Text(RenderProgress(s, {}));
  EXPECT_THAT(text, AllOf(HasSubstr("3,310 done"), Not(HasSubstr("%   ETA"))));
}

TEST(RenderProgressTest, OutcomesThatDoNotFitAreNumbered) {
  ProgressSnapshot s = SampleSnapshot(1);
  s.outcomes.fill(1'000);
  EXPECT_THAT(Text(RenderProgress(s, {})), HasSubstr(" more\n"));
}

TEST(RenderProgressLineTest, IsOneLineOfPlainAscii) {
  const std::string line = RenderProgressLine(SampleSnapshot(50));
  EXPECT_EQ(line,
            "16 s: 3,310/10,000 (33.1 %), 203/s now, 202/s overall, ETA 34 s, in flight 960, 2xx "
            "2,641, 3xx 0, 4xx 321, 5xx 7, failures 341, p50 212 ms, p90 1.32 s, p99 5.00 s, 41.3 "
            "MB/s, agents: 48 running, 1 reconnecting, 1 lost");
  EXPECT_EQ(Harmless(line, /*ascii=*/true), line);
}

TEST(RenderProgressLineTest, HasNoFiguresBeforeThereAreAny) {
  ProgressSnapshot snapshot;
  snapshot.phase = "preparing";
  EXPECT_EQ(RenderProgressLine(snapshot), "preparing");
  snapshot.in_flight = 1;
  EXPECT_TRUE(RenderProgressLine(snapshot).starts_with("0 s: preparing, 0 done, "))
      << RenderProgressLine(snapshot);
}

TEST(EstimateEtaTest, IsUnknownWhenNothingMovesOrTheEndIsUnknown) {
  EXPECT_EQ(EstimateEta(std::nullopt, 5, 1, 1), std::nullopt);
  EXPECT_EQ(EstimateEta(10, 5, 0, 1), std::nullopt);
  EXPECT_EQ(EstimateEta(10, 10, 1, 1), std::nullopt);
  EXPECT_EQ(EstimateEta(100, 50, 10, 0), 5.0);
  EXPECT_EQ(EstimateEta(100, 40, 20, 10), 4.0);
}

TEST(RateMeterTest, MeasuresOverTheLastThreeSeconds) {
  RateMeter meter;
  SteadyTime now{};
  EXPECT_EQ(meter.PerSecond(), 0);
  uint64_t counter = 0;
  const auto run = [&](int steps, uint64_t each) {
    for (int i = 0; i < steps; ++i) {
      meter.Sample(now, counter);
      now += std::chrono::milliseconds(10);
      counter += each;
    }
  };
  run(1'000, 10);
  EXPECT_NEAR(meter.PerSecond(), 1'000, 1);
  run(310, 30);
  EXPECT_NEAR(meter.PerSecond(), 3'000, 1);
  run(310, 0);
  EXPECT_EQ(meter.PerSecond(), 0);
}

TEST(RateMeterTest, ACounterThatFallsGivesNoNonsense) {
  RateMeter meter;
  meter.Sample(SteadyTime{}, 100);
  meter.Sample(SteadyTime{} + std::chrono::seconds(1), 50);
  EXPECT_EQ(meter.PerSecond(), 0);
}

}  // namespace
}  // namespace fetchbench::coordinator
