#include "coordinator/summary/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A run with nothing wrong.
Summary GoodRun() {
  Summary s;
  s.facts.concurrency = 100;
  s.ledger = {.total = 1'000, .recorded = 1'000};
  s.measured.total_urls = 1'000;
  s.measured.timed_urls = 1'000;
  s.measured.time_us = 10'000'000;
  s.measured.classes = {.ok = 900, .redirect = 0, .client_error = 50, .exceptions = 50};
  s.measured.status_codes = {{200, 900}, {404, 50}};
  AgentSummary a;
  a.name = "local";
  a.most_in_flight = 100;
  a.target_exit_code = 0;
  s.agents = {a};
  OriginSummary o;
  o.responses = {{200, 900}, {301, 70}, {404, 50}};
  o.lateness_p99_us = 4'900;
  s.origin = o;
  return s;
}

std::vector<std::string> Names(const Summary& s) {
  std::vector<std::string> names;
  for (const Mark& mark : FindMarks(s)) names.push_back(mark.name);
  return names;
}

std::string OnlyText(const Summary& s) {
  const std::vector<Mark> marks = FindMarks(s);
  return marks.size() == 1 ? marks[0].text : "not one mark";
}

TEST(MarksTest, AGoodRunHasNone) { EXPECT_THAT(Names(GoodRun()), IsEmpty()); }

TEST(MarksTest, AListWithoutAUrlIsNamedInsteadOfWhatFollowsFromIt) {
  Summary s = GoodRun();
  s.ledger = {.total = 3, .recorded = 3};
  s.invalid_lines = 3;
  s.measured = {};
  s.measured.total_urls = 3;
  s.measured.classes.exceptions = 3;
  s.origin->responses = {};
  EXPECT_THAT(Names(s), ElementsAre("no_url"));
  EXPECT_THAT(OnlyText(s), HasSubstr("all 3"));
}

TEST(MarksTest, LateOriginIsNamedWithItsFigure) {
  Summary s = GoodRun();
  s.origin->lateness_p99_us = 7'100;
  EXPECT_THAT(Names(s), ElementsAre("origin_late"));
  EXPECT_THAT(OnlyText(s), HasSubstr("7.1 ms"));
}

TEST(MarksTest, AnOriginThatCannotBeAskedAtTheEndIsSaidWithTheReason) {
  Summary s = GoodRun();
  s.origin.reset();
  EXPECT_THAT(Names(s), IsEmpty());
  s.origin_trouble = "it ended during the run, killed by signal 9";
  EXPECT_THAT(Names(s), ElementsAre("origin_gone"));
  EXPECT_THAT(OnlyText(s), HasSubstr("signal 9"));
}

TEST(MarksTest, BusyOtherCpuNamesTheAgent) {
  Summary s = GoodRun();
  s.agents[0].other_cpu_busy_max_fraction = 0.80;
  EXPECT_THAT(Names(s), IsEmpty());
  s.agents[0].other_cpu_busy_max_fraction = 0.91;
  EXPECT_THAT(Names(s), ElementsAre("other_cpu_busy"));
  EXPECT_THAT(OnlyText(s), AllOf(HasSubstr("91 %"), HasSubstr("local")));
  s.cost.agent_cpu_us = 1'000'000;
  s.origin->cpu_us = 2'500'000;
  EXPECT_THAT(OnlyText(s), HasSubstr("the origin used most of ours, 2.50 s"));
  s.cost.agent_cpu_us = 3'000'000;
  EXPECT_THAT(OnlyText(s), HasSubstr("the agent used most of ours, 3.00 s"));
}

TEST(MarksTest, StealStallsAndClockOffsetNameTheWorstAgent) {
  Summary s = GoodRun();
  AgentSummary other = s.agents[0];
  other.name = "b:1";
  other.steal_fraction = 0.021;
  other.stalled_us = 40'000;
  other.clock_offset_us = -70'000;
  s.agents.push_back(other);
  EXPECT_THAT(Names(s), ElementsAre("steal", "stalled", "clock_offset"));
  const std::vector<Mark> marks = FindMarks(s);
  EXPECT_THAT(marks[0].text, AllOf(HasSubstr("2.1 %"), HasSubstr("b:1")));
  EXPECT_THAT(marks[1].text, HasSubstr("40 ms"));
  EXPECT_THAT(marks[2].text, HasSubstr("70 ms behind"));
}

TEST(MarksTest, AResumedRunSaysSoAndIsNotComparedWithWhatOneOriginSaw) {
  Summary s = GoodRun();
  s.resumed = 2;
  s.down_us = 34'200'000;
  if (s.origin) s.origin->responses.clear();
  EXPECT_THAT(Names(s), ElementsAre("resumed"));
  EXPECT_THAT(OnlyText(s), AllOf(HasSubstr("2 times"), HasSubstr("34.2 s")));
}

TEST(MarksTest, AnUnbalancedLedgerSaysHowMany) {
  Summary s = GoodRun();
  s.ledger.recorded = 990;
  s.measured.total_urls = 990;
  EXPECT_THAT(Names(s), ElementsAre("ledger_unbalanced"));
  EXPECT_THAT(OnlyText(s), HasSubstr("10 URLs are unaccounted for"));
  s = GoodRun();
  s.measured.total_urls = 999;
  EXPECT_THAT(OnlyText(s), HasSubstr("1000 records were stored, but 999 summed up"));
}

TEST(MarksTest, EachWayToEndEarlyIsMarked) {
  Summary s = GoodRun();
  s.ledger = {.total = 5'000, .recorded = 1'000, .never_started = 4'000};
  s.end = RunEnd::kInterrupted;
  EXPECT_THAT(Names(s), ElementsAre("partial"));
  EXPECT_THAT(OnlyText(s), HasSubstr("1000 of 5000"));
  s.end = RunEnd::kDuration;
  EXPECT_THAT(Names(s), ElementsAre("partial"));
  s.end = RunEnd::kIncomplete;
  s.reason = "agent a:1 was lost";
  EXPECT_THAT(Names(s), ElementsAre("incomplete"));
  EXPECT_THAT(OnlyText(s), HasSubstr("agent a:1 was lost"));
}

TEST(MarksTest, ADegradedRunSaysWhatHappened) {
  Summary s = GoodRun();
  s.degraded = true;
  s.agents[0].lost = true;
  s.ledger.requested_again = 20;
  EXPECT_THAT(Names(s), ElementsAre("degraded"));
  EXPECT_THAT(OnlyText(s), AllOf(HasSubstr("1 of 1 agents lost"), HasSubstr("20 URLs")));
}

TEST(MarksTest, ADegradedRunThatAUserEndedStillSaysWhomItLost) {
  Summary s = GoodRun();
  s.end = RunEnd::kInterrupted;
  s.reason = "stopped by the user";
  s.degraded = true;
  s.degraded_by = "before the run was resumed: two lost";
  const std::vector<Mark> marks = FindMarks(s);
  const auto degraded =
      std::find_if(marks.begin(), marks.end(), [](const Mark& m) { return m.name == "degraded"; });
  ASSERT_NE(degraded, marks.end());
  EXPECT_THAT(degraded->text, AllOf(HasSubstr("resumed: two lost"), Not(HasSubstr("the user"))));
}

TEST(MarksTest, ConcurrencyIsJudgedOnlyWhereItCouldBeReached) {
  Summary s = GoodRun();
  s.agents[0].most_in_flight = 80;
  EXPECT_THAT(Names(s), ElementsAre("concurrency_not_reached"));
  EXPECT_THAT(OnlyText(s), HasSubstr("80 of 100"));
  s.measured.timed_urls = 150;  // fewer URLs than it takes to fill the slots twice
  EXPECT_THAT(Names(s), IsEmpty());
  s = GoodRun();
  s.agents[0].most_in_flight = 80;
  s.measured.time_us = 900'000;  // over before a report could see it
  EXPECT_THAT(Names(s), IsEmpty());
  s = GoodRun();
  s.agents[0].most_in_flight = 0;
  s.recorded_earlier = s.measured.timed_urls;  // all that was left of it was to sum up
  EXPECT_THAT(Names(s), IsEmpty());
}

TEST(MarksTest, ATargetThatReportsMoreThanWasSentIsCaught) {
  Summary s = GoodRun();
  s.origin->responses[200] = 890;
  EXPECT_THAT(Names(s), ElementsAre("origin_disagrees"));
  EXPECT_THAT(OnlyText(s), AllOf(HasSubstr("200 900 times"), HasSubstr("890")));
}

TEST(MarksTest, ATargetThatLosesAnswersIsCaughtUnlessItsFailuresExplainThem) {
  Summary s = GoodRun();
  s.origin->responses[200] = 950;  // 50 failures may each have been answered
  EXPECT_THAT(Names(s), IsEmpty());
  s.origin->responses[200] = 951;
  EXPECT_THAT(Names(s), ElementsAre("origin_disagrees"));
  s.ledger.requested_again = 1;
  EXPECT_THAT(Names(s), IsEmpty());
}

TEST(MarksTest, TargetsThatMisbehaveAreMarked) {
  Summary s = GoodRun();
  s.agents[0].surplus_lines = 3;
  s.agents[0].unparsable_lines = 2;
  s.agents[0].target_exit_code = -11;
  EXPECT_THAT(Names(s), ElementsAre("surplus_lines", "unparsable_lines", "target_exit"));
  EXPECT_THAT(FindMarks(s)[2].text, HasSubstr("signal 11"));
}

TEST(MarksTest, ATargetEndedBecauseTheUserStoppedTheRunIsNoFault) {
  Summary s = GoodRun();
  s.end = RunEnd::kInterrupted;
  s.agents[0].target_exit_code = -15;
  EXPECT_THAT(Names(s), ElementsAre("partial"));
}

TEST(MarksTest, ARunWithoutASingleSuccessIsMarked) {
  Summary s = GoodRun();
  s.measured.classes = {.exceptions = 1'000};
  s.measured.status_codes.clear();
  EXPECT_THAT(Names(s), ElementsAre("no_2xx"));
}

}  // namespace
}  // namespace fetchbench::coordinator
