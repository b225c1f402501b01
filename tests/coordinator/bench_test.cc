#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <map>
#include <set>

#include "coordinator/bench/bench_plan.h"
#include "coordinator/bench/bench_runner.h"
#include "coordinator/bench/bench_table.h"
#include "tests/support/fake_clock.h"

namespace fetchbench::coordinator {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TargetInfo Target(const std::string& name, uint32_t concurrency = 10) {
  TargetInfo target;
  target.name = name;
  target.language = name;
  target.method = "m";
  target.concurrency = concurrency;
  return target;
}

TargetRegistry Registry() {
  TargetInfo rust = Target("rust/reqwest", 150);
  rust.aliases = {"rust"};
  rust.folder = "/lib/rust/reqwest";
  TargetInfo go = Target("go/net-http", 125);
  go.folder = "/lib/go/net-http";
  return TargetRegistry({rust, go});
}

TEST(BenchSettingsTest, ReadsTheOriginalsFile) {
  const auto settings = ParseBenchSettings(
      R"([{"name":"rust","language":"Rust","method":"reqwest","concurrency":100},{"name":"go/net-http"}])");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(*settings, SizeIs(2));
  EXPECT_EQ((*settings)[0].concurrency, 100U);
  EXPECT_EQ((*settings)[1].concurrency, 0U);
}

TEST(BenchSettingsTest, BadEntriesAreNamedByTheirNumber) {
  for (const char* bad : {R"([{"name":"a"},{"concurrency":1}])", R"([{"name":"a"},7])",
                          R"([{"name":"a"},{"name":"b","concurrency":0}])",
                          R"([{"name":"a"},{"name":"b","concurrency":"9"}])"}) {
    EXPECT_THAT(std::string(ParseBenchSettings(bad).status().message()), HasSubstr("entry 2"))
        << bad;
  }
  EXPECT_FALSE(ParseBenchSettings("{}").ok());
  EXPECT_FALSE(ParseBenchSettings("nonsense").ok());
}

TEST(BenchTargetsTest, SettingsGiveTheOrderAndTheConcurrency) {
  const auto targets = BenchTargets({{"go/net-http", 0}, {"rust", 7}}, {}, 0, Registry());
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_THAT(*targets, SizeIs(2));
  EXPECT_EQ((*targets)[0].concurrency, 125U);
  EXPECT_EQ((*targets)[1].name, "rust/reqwest");
  EXPECT_EQ((*targets)[1].concurrency, 7U);
}

TEST(BenchTargetsTest, NamedOnesFindTheirSettingByAnyNameAndAnOptionWins) {
  const std::vector<BenchSetting> settings{{"rust", 7}};
  EXPECT_EQ((*BenchTargets(settings, {"rust/reqwest"}, 0, Registry()))[0].concurrency, 7U);
  EXPECT_EQ((*BenchTargets(settings, {"rust/reqwest"}, 3, Registry()))[0].concurrency, 3U);
}

TEST(BenchTargetsTest, UnknownAndRepeatedNamesAreUsageErrors) {
  EXPECT_THAT(std::string(BenchTargets({}, {"rsut"}, 0, Registry()).status().message()),
              HasSubstr("rust"));
  EXPECT_THAT(
      std::string(BenchTargets({}, {"rust", "rust/reqwest"}, 0, Registry()).status().message()),
      HasSubstr("twice"));
}

TEST(BenchTargetsTest, NothingToCompareIsAUsageError) {
  EXPECT_TRUE(absl::IsInvalidArgument(BenchTargets({}, {}, 0, Registry()).status()));
}

TEST(PlanStepsTest, WarmsUpEachOnceThenPlaysRoundsInOrdersOfTheirOwn) {
  const auto steps = PlanSteps(5, 3, 1);
  ASSERT_THAT(steps, SizeIs(20));
  std::map<uint32_t, std::vector<size_t>> orders;
  for (const BenchStep& step : steps) orders[step.round].push_back(step.target);
  EXPECT_THAT(orders[0], ElementsAre(0, 1, 2, 3, 4));
  for (const auto& [round, order] : orders) {
    EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), 5U) << round;
  }
  EXPECT_NE(orders[1], orders[2]);
}

TEST(PlanStepsTest, ASeedGivesOneOrderEverywhere) {
  const auto order = [](uint64_t seed) {
    std::vector<size_t> targets;
    for (const BenchStep& step : PlanSteps(4, 1, seed)) {
      if (step.round == 1) targets.push_back(step.target);
    }
    return targets;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(SpreadTest, MedianMinAndMaxOfOddAndEvenNumbersOfRounds) {
  EXPECT_EQ(SpreadOf({3, 1, 2}).median, 2);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(SpreadOf({3, 1, 2}).min, 1);
  EXPECT_EQ(SpreadOf({3, 1, 2}).max, 3);
  EXPECT_EQ(SpreadOf({}).median, 0);
  EXPECT_DOUBLE_EQ(SpreadOf({90, 100, 110}).Relative(), 0.1);
}

Summary Took(int64_t ms) {
  Summary s;
  s.measured.total_urls = 100;
  s.measured.time_us = ms * 1000;
  s.ledger.total = s.ledger.recorded = 100;
  return s;
}

BenchRow Row(const std::string& name, const std::vector<int64_t>& times) {
  BenchRow row{Target(name), {}};
  for (const int64_t ms : times) {
    row.rounds.push_back({static_cast<uint32_t>(row.rounds.size() + 1), Took(ms), "out/x", ""});
  }
  return row;
}

BenchRow Failing(const std::string& name) {
  BenchRow row{Target(name), {}};
  row.rounds.push_back({0, std::nullopt, "", "no base image, says the engine"});
  return row;
}

BenchResult Three() {
  BenchResult result;
  result.facts.rounds = 3;
  result.rows = {Failing("dotnet"), Row("slow", {300, 310, 305}), Row("fast", {100, 120, 110}),
                 Row("also", {119, 130, 125})};
  result.Sort();
  return result;
}

std::vector<std::string> Names(const BenchResult& result) {
  std::vector<std::string> names;
  for (const BenchRow& row : result.rows) names.push_back(row.target.name);
  return names;
}

TEST(BenchResultTest, SortsByMedianTimeWithTheFailedLast) {
  EXPECT_THAT(Names(Three()), ElementsAre("fast", "also", "slow", "dotnet"));
}

TEST(BenchResultTest, DifferencesWithinTheSpreadAreTies) {
  EXPECT_THAT(Three().Places(), ElementsAre(1, 1, 3, 0));
}

TEST(BenchResultTest, OneRoundKnowsNoTies) {
  BenchResult result;
  result.rows = {Row("a", {100}), Row("b", {100})};
  result.Sort();
  EXPECT_THAT(result.Places(), ElementsAre(1, 2));
}

// Cut by DURATION all take as long: what they did in it is what differs.
TEST(BenchResultTest, RowsCutShortHaveNoPlaceAndAreSortedByWhatTheyDid) {
  BenchResult result;
  result.rows = {Row("few", {10'000, 10'010}), Row("many", {10'010, 10'000}),
                 Row("done", {9'000, 9'900}), Failing("dotnet")};
  for (BenchRow& row : result.rows) {
    if (row.target.name == "done") continue;
    for (BenchRound& round : row.rounds) {
      if (!round.summary) continue;
      round.summary->end = RunEnd::kDuration;
      round.summary->measured.total_urls = row.target.name == "few" ? 20 : 80;
    }
  }
  result.Sort();
  EXPECT_THAT(Names(result), ElementsAre("done", "many", "few", "dotnet"));
  EXPECT_THAT(result.Places(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(BenchText(result, {.width = 300}), HasSubstr("cut short by DURATION"));
  EXPECT_THAT(BenchText(Three(), {.width = 300}), Not(HasSubstr("DURATION")));
}

TEST(BenchReportTest, SaysWhereTheCostOfEachTargetComesFrom) {
  BenchResult result = Three();
  for (BenchRow& row : result.rows) {
    for (BenchRound& round : row.rounds) {
      if (round.summary) round.summary->cost.basis = row.target.name == "fast" ? "wait4" : "cgroup";
    }
  }
  for (const std::string& text : {BenchText(result, {.width = 300}), BenchMarkdown(result)}) {
    EXPECT_THAT(text, AllOf(HasSubstr("CPU s and peak MiB of fast: wait4"),
                            HasSubstr("CPU s and peak MiB of also, slow: cgroup")));
  }
}

TEST(BenchReportTest, TextShowsTiesSpreadFailuresAndMarks) {
  BenchResult result = Three();
  result.rows[0].rounds[0].summary->marks = {{"origin_late", "the origin was late"}};
  TextStyle style;
  style.width = 300;
  EXPECT_THAT(BenchText(result, style),
              AllOf(HasSubstr("=1"), HasSubstr("±9.1%"), HasSubstr("dotnet FAILED: no base image"),
                    HasSubstr("fast marked: origin_late (in 1 of 3 rounds): the origin was late")));
}

TEST(BenchReportTest, NarrowTextHoldsEveryColumnAndFits) {
  TextStyle style;
  style.width = 80;
  const std::string text = BenchText(Three(), style);
  for (const BenchFigure& figure : BenchFigures()) EXPECT_THAT(text, HasSubstr(figure.name));
  size_t begin = text.find("│");
  EXPECT_NE(begin, std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr(std::string(81, '-'))));
}

TEST(BenchReportTest, CsvAndJsonSayThatAFailedTargetHasNoFigures) {
  EXPECT_THAT(BenchCsv(Three()), HasSubstr("0,dotnet,dotnet,m,10,0,1,,,,"));
  const auto json = boost::json::parse(BenchJson(Three()));
  const auto& failed = json.at("targets").at(3).as_object();
  EXPECT_FALSE(failed.contains("figures"));
  EXPECT_EQ(failed.at("rounds").at(0).at("failure"), "no base image, says the engine");
  EXPECT_EQ(json.at("targets").at(0).at("figures").at("time").at("median").as_double(), 110);
}

TEST(BenchReportTest, MarkdownEscapesBars) {
  BenchResult result;
  result.rows = {Failing("x")};
  result.rows[0].rounds[0].failure = "a | b";
  EXPECT_THAT(BenchMarkdown(result), HasSubstr("a \\| b"));
}

class BenchRunnerTest : public testing::Test {
 protected:
  RunResult Good() {
    RunResult result;
    result.code = ExitCode::kDone;
    result.summary = Took(100);
    result.folder = "out/r";
    return result;
  }
  std::vector<BenchRow> Run(const RunOne& run_one) {
    BenchRunner runner({Target("a"), Target("b", 20)}, run_, clock_,
                       [this](const std::string& line) { said_.push_back(line); });
    auto rows = runner.Run(PlanSteps(2, 2, 1), run_one);
    interrupted_ = runner.interrupted();
    return rows;
  }

  test::FakeClock clock_;
  RunOptions run_;
  std::vector<std::string> said_;
  bool interrupted_ = false;
};

TEST_F(BenchRunnerTest, WarmUpsAreShortAndCountForNothing) {
  std::vector<uint64_t> limits;
  const auto rows = Run([&](const RunOptions& options, const RunPresentation& presentation) {
    limits.push_back(options.limit);
    EXPECT_EQ(options.concurrency, options.target.concurrency);
    EXPECT_TRUE(presentation.quiet);
    return Good();
  });
  EXPECT_THAT(rows[0].rounds, SizeIs(2));
  EXPECT_EQ(limits[0], kWarmUpUrls);
  EXPECT_GT(limits[2], kWarmUpUrls);
  EXPECT_THAT(said_[2], AllOf(HasSubstr("round 1 of 2"), HasSubstr("run 3 of 6")));
}

TEST_F(BenchRunnerTest, AFailedRoundIsListedAndTheOthersGoOn) {
  int runs = 0;
  const auto rows = Run([&](const RunOptions& options, const RunPresentation&) {
    RunResult result = Good();
    if (options.target.name == "a" && ++runs == 2) {
      result.summary->measured.outcomes[static_cast<size_t>(Outcome::kClientCrashed)] = 3;
    }
    return result;
  });
  EXPECT_EQ(rows[0].Counted(), 1U);
  EXPECT_THAT(rows[0].Failures(), ElementsAre(HasSubstr("crashed: 3 URLs")));
  EXPECT_EQ(rows[1].Counted(), 2U);
}

TEST_F(BenchRunnerTest, ATargetThatCannotWarmUpIsNotTriedAgain) {
  int runs = 0;
  const auto rows = Run([&](const RunOptions& options, const RunPresentation&) {
    if (options.target.name != "a") return Good();
    ++runs;
    RunResult result;
    result.error = absl::UnavailableError("no base image");
    return result;
  });
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(rows[0].Failures(), ElementsAre("no base image"));
  EXPECT_EQ(rows[1].Counted(), 2U);
}

TEST_F(BenchRunnerTest, AnInterruptionEndsItAndKeepsWhatWasCounted) {
  int runs = 0;
  const auto rows = Run([&](const RunOptions&, const RunPresentation&) {
    RunResult result = Good();
    if (++runs == 4) result.code = ExitCode::kInterrupted;
    return result;
  });
  EXPECT_TRUE(interrupted_);
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(rows[0].Counted() + rows[1].Counted(), 1U);
}

}  // namespace
}  // namespace fetchbench::coordinator
