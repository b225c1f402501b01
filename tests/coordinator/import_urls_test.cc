#include "coordinator/input/import_urls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fetchbench::coordinator {
namespace {

struct ImportCase {
  ListFormat format;
  std::vector<std::string> lines;
  std::string url;  // of the last line
};

class ImportFormatTest : public ::testing::TestWithParam<ImportCase> {};

TEST_P(ImportFormatTest, IsRecognisedAndRead) {
  const ImportCase& c = GetParam();
  EXPECT_EQ(GuessListFormat(c.lines[0]), c.format);
  EXPECT_EQ(ImportLine(c.format, c.lines.back()), c.url);
  if (c.lines.size() > 1) {
    EXPECT_EQ(ImportLine(c.format, c.lines[0]), std::nullopt) << "a header";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ImportFormatTest,
    ::testing::Values(
        ImportCase{
            ListFormat::kDomcop,
            {"\"Rank\",\"Domain\",\"Open Page Rank\"\r", "\"1\",\"www.facebook.com\",\"10.00\"\r"},
            "https://www.facebook.com"},
        ImportCase{ListFormat::kTranco, {"1,google.com\r"}, "https://google.com"},
        ImportCase{ListFormat::kMajestic,
                   {"GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD",
                    "1,1,google.com,com,496193,2330343,google.com,com"},
                   "https://google.com"},
        ImportCase{
            ListFormat::kCrux, {"origin,rank", "http://example.com,1000"}, "http://example.com"},
        ImportCase{ListFormat::kDomcop, {"\"1\",\"a.example\",\"1\""}, "https://a.example"}));

TEST(ImportUrlsTest, SkipsWhatIsNoDomain) {
  for (const char* line :
       {"", ",", "x", "1", "1,", "1,a b", "one,a.example", "\"1\",\"", "1,\"\""}) {
    EXPECT_EQ(ImportLine(ListFormat::kTranco, line), std::nullopt) << line;
  }
}

TEST(ImportUrlsTest, DoesNotGuessWhatItDoesNotKnow) {
  for (const char* line : {"", "name", "<html>", "a.example"}) {
    EXPECT_EQ(GuessListFormat(line), std::nullopt) << line;
  }
}

TEST(ImportUrlsTest, SkipsAByteOrderMark) {
  EXPECT_EQ(ImportLine(ListFormat::kTranco,
                       "\xef\xbb\xbf"
                       "1,a.example"),
            "https://a.example");
}

}  // namespace
}  // namespace fetchbench::coordinator
