#include "coordinator/ui/report_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "coordinator/ui/text.h"
#include "golden.h"
#include "samples.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ReportWriterTest, LooksAsItShould) {
  const struct {
    const char* name;
    size_t agents;
    TextStyle style;
  } cases[] = {{"summary_1_agent_80", 1, {.width = 80}},
               {"summary_1_agent_200", 1, {.width = 200}},
               {"summary_50_agents_80", 50, {.width = 80}},
               {"summary_50_agents_200", 50, {.width = 200}},
               {"summary_1_agent_80_ascii", 1, {.width = 80, .utf8 = false}}};
  for (const auto& c : cases) {
    const std::string actual = RenderPretty(SampleSummary(c.agents), c.style);
    EXPECT_EQ(actual, Golden(c.name, actual)) << c.name;
  }
  const std::string json = RenderJson(SampleSummary(2));
  EXPECT_EQ(json, Golden("summary_json", json));
  const std::string csv = RenderCsv(SampleSummary(1));
  EXPECT_EQ(csv, Golden("summary_csv", csv));
}

TEST(ReportWriterTest, PrettyNeverExceedsTheWidth) {
  std::vector<Summary> summaries = {Summary(), SampleSummary(1), SampleSummary(50)};
  summaries[2].facts.host = std::string(300, 'h');
  summaries[2].facts.folder = "out/日本語\x1b[2J";
  summaries[2].agents[6].trouble = std::string(900, 't');
  for (const Summary& summary : summaries) {
    for (int width = 45; width <= 300; ++width) {
      for (const bool utf8 : {false, true}) {
        const std::string text =
            RenderPretty(summary, {.width = width, .colour = utf8, .utf8 = utf8});
        for (const std::string& line : SplitLines(text)) {
          ASSERT_LE(DisplayWidth(line), width) << line;
          if (!utf8) {
            ASSERT_EQ(Harmless(line, /*ascii=*/true), line);
          }
        }
      }
    }
  }
}

TEST(ReportWriterTest, JsonHasTheOriginalsNamesFirstAndIsJson) {
  const std::string text = RenderJson(SampleSummary(1));
  const boost::json::object json = boost::json::parse(text).as_object();
  std::vector<std::string> names;
  for (const auto& member : json) names.emplace_back(member.key());
  names.resize(12);
  EXPECT_THAT(names, ElementsAre("totalUrls", "time", "avg", "max", "okReqsSec", "okReqsPct",
                                 "avgBodyLen", "2xx", "3xx", "4xx", "5xx", "Exception"));
  EXPECT_EQ(json.at("time").as_int64(), 49'149);
  EXPECT_EQ(json.at("okReqsPct").as_double(), 0.8);
  EXPECT_THAT(text, HasSubstr("\"okReqsPct\": 0.8,"));
  EXPECT_EQ(json.at("outcomes").at("dns_not_found").as_int64(), 702);
  EXPECT_TRUE(json.at("ledger").at("balanced").as_bool());
}

TEST(ReportWriterTest, JsonStaysValidWhateverAPeerSent) {
  Summary s = SampleSummary(1);
  s.agents[0].trouble = "\xFF\"\\\n\x01";
  s.facts.urls = "\xED\xA0\x80";
  s.measured.mean_in_flight = std::numeric_limits<double>::infinity();
  const boost::json::value json = boost::json::parse(RenderJson(s));
  EXPECT_EQ(json.at("agents").at(0).at("trouble").as_string(), "\uFFFD\"\\\n\x01");
  EXPECT_TRUE(json.at("mean_in_flight").is_null());
}

TEST(ReportWriterTest, CsvIsAHeaderAndOneRowOfAsManyFields) {
  const std::vector<std::string> lines = SplitLines(RenderCsv(SampleSummary(1)));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], StartsWith("language,method,concurrency,totalUrls,time,avg,max,okReqsSec,"
                                   "okReqsPct,avgBodyLen,2xx,3xx,4xx,5xx,Exception,"));
  EXPECT_THAT(lines[1], StartsWith("C++,Beast,150,10000,49149,680,5018,162,0.8,256487,7980,1,970,"
                                   "21,1027,"));
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), ','),
            std::count(lines[1].begin(), lines[1].end(), ','));
}

TEST(ReportWriterTest, CsvQuotesWhatNeedsIt) {
  Summary s = SampleSummary(1);
  s.facts.method = "a \"b\", c\nd";
  EXPECT_THAT(RenderCsv(s), HasSubstr("\nC++,\"a \"\"b\"\", c\nd\",150,"));
}

TEST(ReportWriterTest, PlainFormatHasNoSummary) {
  EXPECT_EQ(RenderSummary(SampleSummary(1), ReportFormat::kPlain, {}), "");
  EXPECT_EQ(ParseReportFormat("result"), ReportFormat::kJson);
  EXPECT_EQ(ParseReportFormat("prety"), std::nullopt);
}

TEST(RecordLineTest, IsColouredByClassAndHarmless) {
  Record r;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = 1'700'000'000'123'456;
  r.duration_us = 12'345;
  r.body_bytes = 77;
  std::string out;
  AppendRecordLine(out, "https://u:secret@a.test/\x1b[2J", r, {.colour = true});
  EXPECT_EQ(out,
            "\x1b[32mhttps://u:***@a.test/\\x1b[2J,200,2023-11-14T22:13:20.123456Z,12.345,77\x1b[0m"
            "\n");
  out.clear();
  r.outcome = Outcome::kDnsNotFound;
  AppendRecordLine(out, "https://a.test/", r, {.colour = false});
  EXPECT_THAT(out, StartsWith("https://a.test/,dns_not_found"));
  EXPECT_THAT(out, EndsWith(",77\n"));
  EXPECT_THAT(out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace fetchbench::coordinator
