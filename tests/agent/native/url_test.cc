#include "agent/native/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench::native {
namespace {

using ::testing::HasSubstr;

Url Parsed(std::string_view text) {
  const auto url = ParseUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

std::string Resolved(std::string_view base, std::string_view location) {
  const auto url = ResolveLocation(Parsed(base), location);
  if (!url.ok()) return "invalid";
  return std::string(url->https ? "https://" : "http://") + url->HostHeader() + url->target;
}

TEST(UrlTest, MissingSchemeMeansHttps) {
  const Url url = Parsed("Example.COM");
  EXPECT_TRUE(url.https);
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.port, 443);
  EXPECT_EQ(url.target, "/");
  EXPECT_EQ(Parsed("example.com:8080/x").port, 8080);
  EXPECT_EQ(Parsed("//example.com/x").target, "/x");
}

TEST(UrlTest, PathsAndQueriesAreSentAsTheyCame) {
  EXPECT_EQ(Parsed("http://a.test/x,y?z=1,2&q=a[]|b%zz#frag").target, "/x,y?z=1,2&q=a[]|b%zz");
  EXPECT_EQ(Parsed("http://a.test?q=1").target, "/?q=1");
  EXPECT_EQ(Parsed("http://a.test/caf\xc3\xa9").target, "/caf%C3%A9");
  EXPECT_EQ(Parsed("http://a.test/a/./b/../c/").target, "/a/c/");
  EXPECT_EQ(Parsed("http://a.test/../../x").target, "/x");
  EXPECT_EQ(Parsed("http://a.test/a//b").target, "/a//b");
  EXPECT_EQ(Parsed("http://a.test/a/..").target, "/");
}

TEST(UrlTest, UserinfoBecomesCredentials) {
  const Url url = Parsed("https://us%40er:p%3Aw:x@a.test/");
  EXPECT_EQ(url.credentials, "us@er:p:w:x");
  EXPECT_EQ(url.host, "a.test");
  EXPECT_EQ(Parsed("https://user@a.test/").credentials, "user:");
  EXPECT_EQ(Parsed("https://a.test/@x").credentials, std::nullopt);
}

TEST(UrlTest, AddressesAreLiteralsInEverySpelling) {
  EXPECT_EQ(Parsed("http://[::1]:8080/").HostHeader(), "[::1]:8080");
  EXPECT_TRUE(Parsed("http://[::1]/").literal->is_loopback());
  for (const char* text : {"http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/",
                           "http://0177.0.0.01/", "http://127.1/", "http://127.0.0.1./"}) {
    EXPECT_EQ(Parsed(text).host, "127.0.0.1") << text;
  }
  EXPECT_FALSE(Parsed("http://1.2.3.4.example/").literal.has_value());
}

TEST(UrlTest, InternationalNamesBecomeALabels) {
  EXPECT_EQ(Parsed("https://b\xc3\xbc"
                   "cher.example/")
                .host,
            "xn--bcher-kva.example");
  EXPECT_EQ(Parsed("https://B\xc3\x9c"
                   "CHER.example/")
                .host,
            "xn--bcher-kva.example");
  EXPECT_EQ(Parsed("https://fa\xc3\x9f.de/").host, "xn--fa-hia.de");  // not "fass.de"
  EXPECT_FALSE(ParseUrl("https://b\xfc"
                        "cher.example/")
                   .ok());  // latin-1 is no UTF-8
}

TEST(UrlTest, WhatCurlRefusesIsInvalid) {
  const std::string nul("https://a.test/\0x", 17);
  for (const std::string_view text : {std::string_view(""),
                                      std::string_view("   "),
                                      std::string_view("https://"),
                                      std::string_view("https:///"),
                                      std::string_view("http:////a.test/"),
                                      std::string_view("ftp://a.test/"),

                                      std::string_view("https://a b/"),
                                      std::string_view("https://a.test/x y"),
                                      std::string_view("https://a.test:99999/"),
                                      std::string_view("https://a.test:x/"),
                                      std::string_view("https://[::1/"),
                                      std::string_view("https://[zz]/"),
                                      std::string_view("https://[fe80::1%25eth0]/"),
                                      std::string_view("https://a..test/"),
                                      std::string_view("https://.test/"),
                                      std::string_view("https://a\\b/"),
                                      std::string_view("https://a%00b/"),
                                      std::string_view("https://a.test/\x01"),
                                      std::string_view(nul),
                                      std::string_view("#comment"),
                                      std::string_view("https://%zz/")}) {
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
  }
  EXPECT_THAT(ParseUrl("https://" + std::string(64, 'a') + ".test/").status().message(),
              HasSubstr("63"));
  EXPECT_FALSE(ParseUrl("https://" + std::string(300, 'a') + "/").ok());
}

TEST(LocationTest, ResolvesAsRfc3986AndBrowsersDo) {
  EXPECT_EQ(Resolved("http://a.test/x/y?q", "z"), "http://a.test/x/z");
  EXPECT_EQ(Resolved("http://a.test/x/y?q=/1/", "z"), "http://a.test/x/z");
  EXPECT_EQ(Resolved("http://a.test/x/y", "/z?q#f"), "http://a.test/z?q");
  EXPECT_EQ(Resolved("http://a.test/x/y?a", "?b"), "http://a.test/x/y?b");
  EXPECT_EQ(Resolved("http://a.test/x/y", "../../../z"), "http://a.test/z");
  EXPECT_EQ(Resolved("http://a.test/x/y?a", "#f"), "http://a.test/x/y?a");
  EXPECT_EQ(Resolved("http://a.test/", "//b.test/z"), "http://b.test/z");
  EXPECT_EQ(Resolved("https://a.test/", "//b.test"), "https://b.test/");
  EXPECT_EQ(Resolved("https://a.test/", "HTTP://B.test:80/"), "http://b.test/");
  EXPECT_EQ(Resolved("https://a.test/", " /a page\t"), "https://a.test/a%20page");
  EXPECT_EQ(Resolved("https://a.test/", "/\xe9"), "https://a.test/%E9");
  EXPECT_EQ(Resolved("https://a.test/",
                     "https://b\xc3\xbc"
                     "cher.example/"),
            "https://xn--bcher-kva.example/");
  EXPECT_EQ(Resolved("https://a.test:444/x", "y"), "https://a.test:444/y");
}

TEST(LocationTest, WhatIsNoHttpUrlIsInvalid) {
  for (const char* location : {"ftp://a.test/", "file:///etc/passwd", "javascript:alert(1)",
                               "mailto:x@y", "data:,x", "steammobile://x", "http://", "https:///",
                               "http://[bad/", "http://a.test:99999/", "http:x"}) {
    EXPECT_EQ(Resolved("http://a.test/", location), "invalid") << location;
  }
}

TEST(UrlTest, OriginsDifferBySchemeHostAndPort) {
  EXPECT_TRUE(SameOrigin(Parsed("http://a.test/x"), Parsed("http://A.test:80/y")));
  EXPECT_FALSE(SameOrigin(Parsed("http://a.test/"), Parsed("https://a.test/")));
  EXPECT_FALSE(SameOrigin(Parsed("http://a.test/"), Parsed("http://b.test/")));
  EXPECT_FALSE(SameOrigin(Parsed("http://a.test/"), Parsed("http://a.test:81/")));
}

}  // namespace
}  // namespace fetchbench::native
