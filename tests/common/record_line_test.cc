#include "common/record_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench {
namespace {

using ::testing::HasSubstr;

Record Ok() {
  Record r;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = 1'700'000'000'123'456;
  r.duration_us = 12'345;
  r.body_bytes = 77;
  return r;
}

TEST(PlainLineTest, HasFiveFieldsWithMicrosecondStart) {
  std::string out;
  AppendPlainLine(out, "https://a.test/", Ok());
  EXPECT_EQ(out, "https://a.test/,200,2023-11-14T22:13:20.123456Z,12.345,77\n");
}

TEST(PlainLineTest, UrlWithCommasIsReadFromTheRight) {
  const auto line = ParsePlainLine("https://a.test/x,y?z=1,2,404,2023-11-14T22:13:20.1Z,5,0");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->url, "https://a.test/x,y?z=1,2");
  EXPECT_EQ(line->record.status, 404);
  EXPECT_EQ(line->record.start_us, 1'700'000'000'100'000);
}

TEST(PlainLineTest, ErrorTextLosesTheLinesOwnSeparatorsAndKeepsTheOutcome) {
  Record r = Ok();
  r.outcome = Outcome::kDnsNotFound;
  r.status = 0;
  r.error = "no, such\nhost";
  std::string out;
  AppendPlainLine(out, "https://a.test/", r);
  out.pop_back();
  const auto line = ParsePlainLine(out);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->record.outcome, Outcome::kDnsNotFound);
  EXPECT_EQ(line->record.error, "no  such host");
}

TEST(PlainLineTest, UnknownErrorTextIsKeptAsClientError) {
  const auto line = ParsePlainLine("https://a.test/,ECONNRESET,2023-11-14T22:13:20+01:00,5,0");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->record.outcome, Outcome::kClientError);
  EXPECT_EQ(line->record.error, "ECONNRESET");
}

TEST(PlainLineTest, MalformedLinesAreRefusedWithTheFieldNamed) {
  EXPECT_THAT(ParsePlainLine("garbage").status().message(), HasSubstr("five fields"));
  EXPECT_THAT(ParsePlainLine("u,200,yesterday,5,0").status().message(), HasSubstr("start"));
  EXPECT_THAT(ParsePlainLine("u,200,2023-11-14T22:13:20Z,nan,0").status().message(),
              HasSubstr("duration"));
  EXPECT_THAT(ParsePlainLine("u,200,2023-11-14T22:13:20Z,5,-1").status().message(),
              HasSubstr("body"));
}

// The agent packs every record that it accepts, and the coordinator refuses a batch with a figure
// out of range: one such line must not cost the batch that it would travel in.
TEST(PlainLineTest, WhatNoBatchCanCarryIsRefused) {
  EXPECT_THAT(ParsePlainLine("u,200,2023-11-14T22:13:20Z,5,9223372036854775807").status().message(),
              HasSubstr("body"));
}

TEST(PlainLineTest, TheWordStatusIsNoCode) {
  const auto line = ParsePlainLine("u,status: fine,2023-11-14T22:13:20Z,5,0");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->record.outcome, Outcome::kClientError);
  EXPECT_EQ(line->record.error, "status: fine");
}

TEST(JsonLineTest, FiguresThatDoNotFitAreRefused) {
  const auto parse = [](const std::string& member) {
    return ParseJsonLine(R"({"url":"u","outcome":"timeout_in_body","start":"2023-11-14T22:13:20Z",)"
                         R"("duration_ms":1,)" +
                         member + "}");
  };
  EXPECT_TRUE(parse(R"("status":200)").ok());
  EXPECT_FALSE(parse(R"("status":4294967496)").ok());  // 200 in 32 bits
  EXPECT_FALSE(parse(R"("redirects":2147483648)").ok());
  EXPECT_FALSE(parse(R"("redirects":2147483647)").ok());  // one more is sent
}

TEST(JsonLineTest, EveryFieldSurvivesTheRoundTrip) {
  Record r = Ok();
  r.dns_us = 1'001;
  r.connect_us = 0;
  r.tls_us = 3'000;
  r.first_byte_us = 9'999;
  r.wire_bytes = 4'000;
  r.redirects = 2;
  r.remote_address = "127.64.0.1:443";
  r.http_version = "1.1";
  r.tls_version = "1.3";
  r.error = "quote \" backslash \\ control \x01 tab \t";
  std::string out;
  AppendJsonLine(out, "https://a.test/\"x\"", r);
  out.pop_back();
  const auto line = ParseJsonLine(out);
  ASSERT_TRUE(line.ok()) << line.status() << out;
  EXPECT_EQ(line->url, "https://a.test/\"x\"");
  EXPECT_EQ(line->record, r);
}

TEST(JsonLineTest, UrlBytesThatAreNotUtf8SurviveTheRoundTrip) {
  std::string out;
  AppendJsonLine(out, "https://a.test/\xff\xfe", Ok());
  out.pop_back();
  const auto line = ParseJsonLine(out);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->url, "https://a.test/\xff\xfe");
}

TEST(JsonLineTest, WrongTypesRangesAndNestingAreRefused) {
  EXPECT_FALSE(ParseJsonLine("[]").ok());
  EXPECT_FALSE(
      ParseJsonLine(R"({"url":1,"status":200,"start":"2023-11-14T22:13:20Z","duration_ms":1})")
          .ok());
  EXPECT_FALSE(
      ParseJsonLine(R"({"url":"u","status":200,"start":"2023-11-14T22:13:20Z","duration_ms":1e99})")
          .ok());
  EXPECT_FALSE(ParseJsonLine(R"({"url":"u","status":200,"start":"2023-11-14T22:13:20Z"})").ok());
  EXPECT_FALSE(ParseJsonLine(std::string(100'000, '[')).ok());
}

}  // namespace
}  // namespace fetchbench
