#include "coordinator/verify/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "coordinator/verify/matrix.h"

namespace fetchbench::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const PolicyAsked kAsked{.timeout_us = 2'000'000, .user_agent = "me/1"};

Behaviour Expecting(std::vector<Outcome> outcomes, std::vector<int64_t> status = {}) {
  Behaviour b;
  b.name = "some-behaviour";
  b.outcomes = std::move(outcomes);
  b.status = std::move(status);
  return b;
}

Record Said(Outcome outcome, int status = 0) {
  Record r;
  r.outcome = outcome;
  r.status = status;
  r.start_us = 1'000'000'000;
  r.duration_us = 100'000;
  return r;
}

SeenRequest GoodRequest() {
  return {.method = "GET",
          .target = "/",
          .headers = {{"user-agent", "me/1"}, {"accept-encoding", "identity"}},
          .at_us = 1'000'000'500};
}

std::vector<std::string> Tokens(const std::vector<Finding>& findings) {
  std::vector<std::string> tokens;
  for (const Finding& finding : findings) tokens.push_back(finding.token);
  return tokens;
}

TEST(JudgeTest, WhatIsExpectedGivesNoFinding) {
  Sighting seen{.connections = 1, .closes = 1, .requests = {GoodRequest()}};
  EXPECT_THAT(
      Judge(Expecting({Outcome::kStatus}, {200}), Said(Outcome::kStatus, 200), seen, kAsked),
      IsEmpty());
}

TEST(JudgeTest, AnotherStatusOrOutcomeIsNamedByWhatWasObserved) {
  const Behaviour b = Expecting({Outcome::kStatus}, {200});
  EXPECT_THAT(Tokens(Judge(b, Said(Outcome::kStatus, 302), {}, kAsked)), ElementsAre("302"));
  const auto findings = Judge(b, Said(Outcome::kBodyTruncated), {}, kAsked);
  EXPECT_THAT(Tokens(findings), ElementsAre("body_truncated"));
  EXPECT_THAT(findings[0].text, HasSubstr("expected 200"));
}

TEST(JudgeTest, BodyIsJudgedOnlyWhenTheEndIsRight) {
  Behaviour b = Expecting({Outcome::kStatus, Outcome::kBodyTruncated}, {200});
  b.body_bytes = {12};
  Record r = Said(Outcome::kStatus, 200);
  r.body_bytes = 11;
  EXPECT_THAT(Tokens(Judge(b, r, {}, kAsked)), ElementsAre("body_bytes"));
  r.outcome = Outcome::kBodyTruncated;
  EXPECT_THAT(Judge(b, r, {}, kAsked), IsEmpty());
}

TEST(JudgeTest, NothingSaidIsNoRecord) {
  EXPECT_THAT(Tokens(Judge(Expecting({Outcome::kStatus}, {200}), std::nullopt, {}, kAsked)),
              ElementsAre("no_record"));
}

TEST(JudgeTest, AFetchBeyondItsDeadlineIsLate) {
  Record r = Said(Outcome::kTimeoutBeforeHeaders);
  r.duration_us = 2'250'000;
  const Behaviour b = Expecting({Outcome::kTimeoutBeforeHeaders});
  EXPECT_THAT(Judge(b, r, {}, kAsked), IsEmpty());
  r.duration_us = 2'250'001;
  EXPECT_THAT(Tokens(Judge(b, r, {}, kAsked)), ElementsAre("late"));
}

TEST(JudgeTest, AConnectionThatOutlivesItsDeadlineIsFoundByTheOriginsWord) {
  Record r = Said(Outcome::kTimeoutInBody);
  r.duration_us = 2'000'000;
  const Behaviour b = Expecting({Outcome::kTimeoutInBody});
  Sighting seen{.connections = 1, .closes = 1, .closed_at_us = {r.start_us + 2'200'000}};
  EXPECT_THAT(Judge(b, r, seen, kAsked), IsEmpty());
  seen.closed_at_us = {r.start_us + 2'300'000};
  EXPECT_THAT(Tokens(Judge(b, r, seen, kAsked)), ElementsAre("open_after_timeout"));
  seen.closes = 0;
  seen.closed_at_us = {};
  EXPECT_THAT(Tokens(Judge(b, r, seen, kAsked)), ElementsAre("open_after_timeout"));
}

TEST(JudgeTest, EveryRequestsHeadersAreJudgedAndSaidOnce) {
  SeenRequest bad = GoodRequest();
  bad.headers["accept-encoding"] = "gzip";
  bad.headers.erase("user-agent");
  SeenRequest worse = bad;
  worse.target = "/next";
  SeenRequest good = GoodRequest();
  good.target = "/last";
  const Sighting seen{.connections = 1, .closes = 1, .requests = {bad, worse, good}};
  EXPECT_THAT(Tokens(Judge(Expecting({Outcome::kStatus}, {200}), Said(Outcome::kStatus, 200), seen,
                           kAsked)),
              ElementsAre("user_agent", "accept_encoding"));
}

TEST(JudgeTest, TheSameRequestAgainIsARetryUnlessARedirectLedBack) {
  SeenRequest other = GoodRequest();
  other.target = "/other";
  Behaviour b = Expecting({Outcome::kConnectionReset});
  Sighting seen{.connections = 2, .closes = 2, .requests = {GoodRequest(), other}};
  EXPECT_THAT(Judge(b, Said(Outcome::kConnectionReset), seen, kAsked), IsEmpty());
  seen.requests.push_back(GoodRequest());
  EXPECT_THAT(Tokens(Judge(b, Said(Outcome::kConnectionReset), seen, kAsked)),
              ElementsAre("retried"));
  b.family = "redirect";
  EXPECT_THAT(Judge(b, Said(Outcome::kConnectionReset), seen, kAsked), IsEmpty());
}

TEST(JudgeTest, ATimeoutBeforeTheDeadlineIsNotTheMachinesDoing) {
  const Behaviour b = Expecting({Outcome::kStatus}, {200});
  Record record = Said(Outcome::kDnsTimeout);
  record.duration_us = 1'400'000;
  EXPECT_FALSE(Judge(b, record, {}, kAsked).at(0).by_deadline);
  record.duration_us = 2'000'100;
  EXPECT_TRUE(Judge(b, record, {}, kAsked).at(0).by_deadline);
}

Finding ByDeadline(const std::string& token) { return {token, "", true}; }

TEST(TwoLooksTest, AFindingByDeadlineStaysWhenItHappensTwice) {
  const TwoLooks looks =
      Compare({ByDeadline("late"), ByDeadline("dns_timeout")}, {ByDeadline("late")});
  EXPECT_THAT(Tokens(looks.stay), ElementsAre("late"));
  EXPECT_THAT(Tokens(looks.once), ElementsAre("dns_timeout"));
  EXPECT_THAT(Tokens(Compare({ByDeadline("late")}, {}).stay), IsEmpty());
}

TEST(TwoLooksTest, OtherFindingsStayWheneverTheyHappen) {
  EXPECT_THAT(Tokens(Compare({ByDeadline("late"), {"user_agent", ""}}, {{"404", ""}}).stay),
              ElementsAre("user_agent", "404"));
}

TEST(TwoLooksTest, TwoDifferentFailuresAreNotNone) {
  const TwoLooks looks = Compare({ByDeadline("dns_timeout")}, {ByDeadline("timeout_in_body")});
  EXPECT_THAT(Tokens(looks.stay), ElementsAre("timeout_in_body"));
}

TEST(SightingTest, ReadsWhatAnOriginAnswersAndRefusesAnythingElse) {
  const auto good =
      ParseSighting(boost::json::parse(R"({"host":"h","dns_queries":1,"connections":2,"closes":1,
        "requests":[{"method":"GET","target":"/","headers":{"User-Agent":"me"},"at_us":5}],
        "closed_at_us":[7]})")
                        .as_object());
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->connections, 2U);
  ASSERT_THAT(good->requests, SizeIs(1));
  EXPECT_EQ(good->requests[0].headers.at("user-agent"), "me");
  EXPECT_EQ(good->requests[0].target, "/");
  EXPECT_THAT(good->closed_at_us, ElementsAre(7));
  EXPECT_FALSE(ParseSighting({}).ok());
  EXPECT_FALSE(ParseSighting(boost::json::parse(R"({"dns_queries":"x","connections":1,"closes":0,
                                                    "requests":[],"closed_at_us":[]})")
                                 .as_object())
                   .ok());
}

const std::vector<Deviation> kDeclared{{.behaviours = {"redirect-chain-*"},
                                        .observed = {"redirect_limit"},
                                        .why = "w",
                                        .reference = "r"}};

TEST(MatrixTest, FindingsThatAreAllDeclaredAreADeviation) {
  const Cell cell = MakeCell("redirect-chain-10", {{"redirect_limit", "t"}}, kDeclared);
  EXPECT_EQ(cell.verdict, CellVerdict::kDeviation);
  EXPECT_THAT(cell.reasons, ElementsAre(Reason{"w", "r"}));
  EXPECT_EQ(MakeCell("redirect-chain-10", {}, kDeclared).verdict, CellVerdict::kPass);
}

TEST(MatrixTest, OneFindingThatIsNotDeclaredFails) {
  EXPECT_EQ(
      MakeCell("redirect-chain-10", {{"redirect_limit", ""}, {"late", ""}}, kDeclared).verdict,
      CellVerdict::kFail);
  EXPECT_EQ(MakeCell("other", {{"redirect_limit", ""}}, kDeclared).verdict, CellVerdict::kFail);
}

TEST(MatrixTest, ADeviationThatNoLongerHappensIsStale) {
  const std::vector<std::string> names{"redirect-chain-10", "other"};
  std::vector<Cell> cells{MakeCell(names[0], {}, kDeclared), MakeCell(names[1], {}, kDeclared)};
  EXPECT_THAT(FindStale(names, cells, kDeclared, true), ElementsAre(HasSubstr("redirect-chain-*")));
  auto race = kDeclared;
  race[0].sometimes = true;
  EXPECT_THAT(FindStale(names, cells, race, true), IsEmpty());
  cells[0] = MakeCell(names[0], {{"redirect_limit", ""}}, kDeclared);
  EXPECT_THAT(FindStale(names, cells, kDeclared, true), IsEmpty());
}

TEST(MatrixTest, ADeviationOfABehaviourThatWasNotRunIsNotStaleAndOneOfNoneIs) {
  const std::vector<std::string> names{"redirect-chain-10"};
  const std::vector<Cell> cells(1);
  EXPECT_THAT(FindStale(names, cells, kDeclared, true), IsEmpty());
  EXPECT_THAT(FindStale({"x"}, std::vector<Cell>(1), kDeclared, true),
              ElementsAre(HasSubstr("no behaviour")));
  EXPECT_THAT(FindStale({"x"}, std::vector<Cell>(1), kDeclared, false), IsEmpty());
}

Matrix Small() {
  Matrix m{.behaviours = {"a", "b"}, .families = {"dns", "tls"}, .columns = {}};
  MatrixColumn good{
      .target = "native", .runtime = "C++", .cells = {{CellVerdict::kPass}, {CellVerdict::kPass}}};
  MatrixColumn bad{.target = "x/y", .runtime = "X 1"};
  bad.cells = {{CellVerdict::kPass}, MakeCell("b", {{"302", "302, expected 200"}}, {})};
  m.columns = {good, bad};
  return m;
}

TEST(MatrixTest, FailsWithAFailingCellOrAStaleDeviation) {
  Matrix m = Small();
  EXPECT_TRUE(m.Failed());
  m.columns.pop_back();
  EXPECT_FALSE(m.Failed());
  m.columns[0].stale = {"it is"};
  EXPECT_TRUE(m.Failed());
}

TEST(MatrixTest, EveryReportSaysWhatFailedAndWhy) {
  EXPECT_THAT(MatrixText(Small(), {.width = 80}), HasSubstr("FAIL       b: 302, expected 200"));
  EXPECT_THAT(MatrixMarkdown(Small()), HasSubstr("| tls | b | pass | **FAIL**: 302 |"));
  const auto json = boost::json::parse(MatrixJson(Small()));
  EXPECT_EQ(json.at("failed"), true);
  EXPECT_EQ(json.at("targets").at(1).at("cells").at(1).at("verdict"), "FAIL");
}

TEST(MatrixTest, EveryReasonOfACellIsGivenOnce) {
  std::vector<Deviation> declared = kDeclared;
  declared.push_back(
      {.behaviours = {"redirect-*"}, .observed = {"late"}, .why = "w2", .reference = "r2"});
  const Cell cell =
      MakeCell("redirect-chain-10",
               {{"redirect_limit", "a"}, {"redirect_limit", "b"}, {"late", "c"}}, declared);
  EXPECT_EQ(cell.verdict, CellVerdict::kDeviation);
  EXPECT_THAT(cell.reasons, ElementsAre(Reason{"w", "r"}, Reason{"w2", "r2"}));
  Matrix m{.behaviours = {"redirect-chain-10"}, .families = {"redirects"}};
  m.columns = {{.target = "x/y", .cells = {cell}}};
  for (const std::string& text : {MatrixText(m, {.width = 80}), MatrixMarkdown(m), MatrixJson(m)}) {
    EXPECT_THAT(text, HasSubstr("w2"));
    EXPECT_THAT(text, HasSubstr("r2"));
  }
}

// What target.json, `--describe` and a failing build say is not ours.
TEST(MatrixTest, WhatTargetsSayReachesNoTerminalRaw) {
  const std::string evil = "\x1b[2Jevil | <b>";
  Matrix m = Small();
  m.columns[0].runtime = evil;
  m.columns[0].stale = {evil};
  m.columns[0].cells[0] =
      MakeCell("a", {{"302", evil}},
               {{.behaviours = {"*"}, .observed = {"302"}, .why = evil, .reference = evil}});
  m.columns[0].cells[1].once = {{"late", evil}};
  m.columns[1].not_run = evil + "\nstep 2 failed";
  for (const int width : {40, 300}) {
    const std::string text = MatrixText(m, {.width = width});
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("evil"));
    EXPECT_THAT(text, HasSubstr("\nstep 2 failed"));
  }
  const std::string markdown = MatrixMarkdown(m);
  EXPECT_THAT(markdown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(markdown, Not(HasSubstr("| <b>")));
  EXPECT_THAT(markdown, HasSubstr("- stale: "));
  EXPECT_THAT(markdown, HasSubstr("step 2 failed"));
}

TEST(MatrixTest, ATargetThatWasNotRunSaysWhy) {
  Matrix m = Small();
  m.columns[1].not_run = "no .NET base image";
  m.columns[1].cells.assign(2, Cell{});
  EXPECT_THAT(MatrixText(m, {.width = 80}), HasSubstr("x/y: not run here: no .NET base image"));
  EXPECT_THAT(MatrixMarkdown(m), HasSubstr("Not run here: no .NET base image"));
}

}  // namespace
}  // namespace fetchbench::coordinator
