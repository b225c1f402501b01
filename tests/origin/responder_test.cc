#include "origin/responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench::origin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Request Get(std::string host, std::string target = "/") {
  return {.method = "GET", .target = std::move(target), .host = std::move(host), .headers = {}};
}

TEST(ResponderTest, RedirectsEndAfterOneHop) {
  HttpPlan plan;
  plan.redirect = RedirectKind::kToWww;
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test"), true).location, "https://www.a.test/");
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test"), true).status, 301);
  EXPECT_EQ(ChooseAnswer(plan, Get("www.a.test"), true).status, 200);
  plan.redirect = RedirectKind::kToHttp;
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test"), true).location, "http://a.test/");
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test"), false).status, 200);
  plan.redirect = RedirectKind::kToPath;
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test"), true).location, "/start");
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test", "/start"), true).status, 200);
  plan.redirect = RedirectKind::kNone;
  plan.upgrade_http = true;
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test", "/x"), false).location, "https://a.test/x");
  EXPECT_EQ(ChooseAnswer(plan, Get("a.test", "/x"), true).status, 200);
}

TEST(ResponderTest, HeadsSayHowTheBodyEnds) {
  HttpPlan plan;
  plan.body_bytes = 12;
  plan.padding_bytes = 30;
  const Answer answer;
  EXPECT_EQ(MakeHead(plan, answer, Framing::kContentLength, true),
            "HTTP/1.1 200 OK\r\nServer: fetchbench-origin\r\n"
            "Content-Type: text/html; charset=utf-8\r\nContent-Length: 12\r\n"
            "X-Padding: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n\r\n");
  EXPECT_THAT(MakeHead(plan, answer, Framing::kChunked, true),
              HasSubstr("Transfer-Encoding: chunked\r\n"));
  const std::string close = MakeHead(plan, answer, Framing::kClose, false);
  EXPECT_THAT(close, Not(HasSubstr("Length")));
  EXPECT_THAT(close, HasSubstr("Connection: close\r\n"));
}

TEST(ResponderTest, SomeAnswersHaveNoBody) {
  HttpPlan plan;
  Request head = Get("a.test");
  head.method = "HEAD";
  EXPECT_FALSE(ChooseAnswer(plan, head, true).has_body);
  plan.status = 304;
  EXPECT_FALSE(ChooseAnswer(plan, Get("a.test"), true).has_body);
  plan.status = 404;
  EXPECT_TRUE(ChooseAnswer(plan, Get("a.test"), true).has_body);
}

}  // namespace
}  // namespace fetchbench::origin
