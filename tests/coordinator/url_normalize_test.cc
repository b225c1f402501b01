#include "coordinator/input/url_normalize.h"

#include <gmock/gmock.h>

#include <string>

namespace fetchbench::coordinator {
namespace {

using ::testing::HasSubstr;

ListLine Parse(std::string_view text) {
  ListLine line;
  ParseListLine(text, line);
  return line;
}

struct GoodCase {
  std::string text;
  std::string url;
  std::string host;
};

class GoodLineTest : public ::testing::TestWithParam<GoodCase> {};

TEST_P(GoodLineTest, IsUnderstood) {
  const ListLine line = Parse(GetParam().text);
  ASSERT_EQ(line.kind, LineKind::kUrl) << line.reason;
  EXPECT_EQ(line.url, GetParam().url);
  EXPECT_EQ(line.host, GetParam().host);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, GoodLineTest,
    ::testing::Values(
        GoodCase{"https://example.com/", "https://example.com/", "example.com"},
        GoodCase{"example.com", "https://example.com", "example.com"},
        GoodCase{"  example.com\t\r", "https://example.com", "example.com"},
        GoodCase{"HTTP://EXAMPLE.com/A", "http://EXAMPLE.com/A", "example.com"},
        GoodCase{"http:/example.com", "http://example.com", "example.com"},
        GoodCase{"https:///example.com/x", "https://example.com/x", "example.com"},
        GoodCase{"example.com:8080/a", "https://example.com:8080/a", "example.com"},
        GoodCase{"http://example.com:/", "http://example.com:/", "example.com"},
        GoodCase{"http://u:p@example.com/", "http://u:p@example.com/", "example.com"},
        GoodCase{"http://[::1]:8080/", "http://[::1]:8080/", "::1"},
        GoodCase{"http://[0:0:0:0:0:0:0:1]/", "http://[0:0:0:0:0:0:0:1]/", "::1"},
        GoodCase{"http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/", "fe80::1"},
        GoodCase{"https://b\xc3\xbc"
                 "cher.example/",
                 "https://b\xc3\xbc"
                 "cher.example/",
                 "xn--bcher-kva.example"},
        GoodCase{"https://B\xc3\x9c"
                 "CHER.example/",
                 "https://B\xc3\x9c"
                 "CHER.example/",
                 "xn--bcher-kva.example"},
        GoodCase{"https://a.example/x,y?z=1,2", "https://a.example/x,y?z=1,2", "a.example"},
        GoodCase{"https://a.example/#frag", "https://a.example/#frag", "a.example"},
        GoodCase{"a.example?q=http://b.example", "https://a.example?q=http://b.example",
                 "a.example"},
        GoodCase{"a.example/http://b.example", "https://a.example/http://b.example", "a.example"},
        GoodCase{"localhost:1/x", "https://localhost:1/x", "localhost"},
        GoodCase{"ftp.example/x", "https://ftp.example/x", "ftp.example"},
        GoodCase{"a_b.example", "https://a_b.example", "a_b.example"},
        GoodCase{"127.0.0.1", "https://127.0.0.1", "127.0.0.1"}));

struct BadCase {
  std::string text;
  std::string reason;
};

class BadLineTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadLineTest, IsInvalidAndSaysWhy) {
  const ListLine line = Parse(GetParam().text);
  ASSERT_EQ(line.kind, LineKind::kInvalid);
  EXPECT_THAT(line.reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadLineTest,
    ::testing::Values(
        BadCase{"ftp://example.com/", "scheme 'ftp'"}, BadCase{"https://", "no host name"},
        BadCase{"https://:80/", "no host name"}, BadCase{"http:////a.example/", "slashes"},
        BadCase{"//a.example/", "no host name"}, BadCase{"?x", "no host name"},
        BadCase{"https://a b.example/", "space"}, BadCase{"https://a.example/x y", "space"},
        BadCase{std::string("https://a.example/\0x", 20), "NUL"},
        BadCase{"https://a.example/\x01", "0x01"},
        BadCase{"https://a.example:99999/", "above 65535"},
        BadCase{"https://a.example:99999999999/", "above 65535"},
        BadCase{"https://a.example:8x/", "not a number"}, BadCase{"mailto:someone", "not a number"},
        BadCase{"https://a@b@c.example/", "'@'"}, BadCase{"https://a,b.example/", "','"},
        BadCase{"https://a\\b.example/", "'\\'"}, BadCase{"https://%61.example/", "'%'"},
        BadCase{"https://[::1/", "']'"}, BadCase{"https://[xyz]/", "IPv6"},
        BadCase{"https://[::1]x/", "between"}, BadCase{"https://\xff\xfe.example/", "host name"},
        BadCase{"https://a.example/" + std::string(kMaxUrlBytes, 'x'), "longer"}));

TEST(ListLineTest, SkipsBlankLinesAndComments) {
  for (const char* text : {"", "  \t", "# comment", "   # comment", "\r"}) {
    EXPECT_EQ(Parse(text).kind, LineKind::kBlank) << text;
  }
}

TEST(ListLineTest, KeepsOnlyTheStartOfAnOverlongLine) {
  EXPECT_EQ(Parse(std::string(kMaxUrlBytes + 1, 'x')).url.size(), kMaxKeptLineBytes);
}

TEST(ListLineTest, TellsWhichHostsNobodyAsksDnsFor) {
  for (const char* text :
       {"127.0.0.1", "http://10.0.0.1:8080/x", "https://user@192.0.2.1/", "http://[::1]/",
        "http://[fe80::1%25eth0]/", "2130706433", "http://0x7f.1/", "0177.1", "127.1", "192.0.2.1.",
        "http://\xef\xbc\x91.1/", "localhost", "LOCALHOST:80", "a.localhost.", "0"}) {
    const ListLine line = Parse(text);
    EXPECT_EQ(line.kind, LineKind::kUrl) << text;
    EXPECT_TRUE(line.address) << text;
  }
  for (const char* text : {"a.example", "1.example", "1.2.3.4.example", "1.2.3.4.5", "256.1.1.1",
                           "mylocalhost", "localhost.example", "0x.example"}) {
    EXPECT_FALSE(Parse(text).address) << text;
  }
}

TEST(ListLineTest, TellsWhetherCertificatesAreNeeded) {
  EXPECT_TRUE(Parse("a.example").https);
  EXPECT_FALSE(Parse("HTTP://a.example").https);
}

}  // namespace
}  // namespace fetchbench::coordinator
