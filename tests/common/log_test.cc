#include "common/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/json.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace fetchbench {
namespace {

namespace json = boost::json;

using ::testing::MatchesRegex;

// The default logger of the test, into a string.
class LogTest : public ::testing::Test {
 protected:
  LogTest() : before_(spdlog::default_logger()) {}
  ~LogTest() override { spdlog::set_default_logger(before_); }

  void LogTo(LogFormat format, json::object context = {}) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out_);
    auto logger = std::make_shared<spdlog::logger>("tester", std::move(sink));
    logger->set_formatter(MakeLogFormatter(format, "%n: %l: %v", std::move(context)));
    spdlog::set_default_logger(std::move(logger));
  }
  json::object Line() const { return json::parse(out_.str()).as_object(); }

  std::ostringstream out_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(LogTest, AnEventIsALineOfJsonWithItsFields) {
  LogTo(LogFormat::kJson, {{"run", "r1"}});
  LogEvent(spdlog::level::warn, "agent_away", {{"agent", "a:1"}, {"urls", 12}},
           "agent a:1 is away");
  const json::object line = Line();
  EXPECT_THAT(std::string(line.at("ts").as_string()),
              MatchesRegex("20[0-9-]{8}T[0-9:]{8}\\.[0-9]{3}Z"));
  EXPECT_EQ(line.at("level"), "warn");
  EXPECT_EQ(line.at("program"), "tester");
  EXPECT_EQ(line.at("event"), "agent_away");
  EXPECT_EQ(line.at("message"), "agent a:1 is away");
  EXPECT_EQ(line.at("run"), "r1");
  EXPECT_EQ(line.at("agent"), "a:1");
  EXPECT_EQ(line.at("urls"), 12);
}

TEST_F(LogTest, AnyTextIsOneLineOfPlainAsciiJson) {
  const std::string nasty =
      std::string("a\x1b[2J\r\nb\"\\\x7f\xc3\xa9\xe2\x80\xae\xf0\x9f\x98\x80\xff") +
      std::string(1, '\0') + "z";
  LogTo(LogFormat::kJson);
  LogEvent(spdlog::level::info, "x", {{"text", nasty}}, nasty);
  spdlog::info("{}", nasty);
  std::istringstream lines(out_.str());
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << line;
    const json::object parsed = json::parse(line).as_object();
    EXPECT_EQ(std::string(parsed.at("message").as_string()),
              std::string("a\x1b[2J\r\nb\"\\\x7f\xc3\xa9\xe2\x80\xae\xf0\x9f\x98\x80\xef\xbf\xbd") +
                  std::string(1, '\0') + "z");
  }
  EXPECT_EQ(count, 2);
}

TEST_F(LogTest, ControlCharactersInTextAreEscaped) {
  LogTo(LogFormat::kText);
  LogEvent(spdlog::level::info, "x", {}, "a\x1b[2J\nb");
  EXPECT_EQ(out_.str(), "tester: info: a\\x1b[2J\\x0ab\n");
}

TEST_F(LogTest, AChildsLineIsTakenAsItIs) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    out_.str("");
    LogTo(format);
    LogChildLine("{\"program\":\"agent\"}");
    EXPECT_EQ(out_.str(), "{\"program\":\"agent\"}\n");
  }
}

TEST_F(LogTest, WhatTheLevelLeavesOutIsNotLogged) {
  LogTo(LogFormat::kText);
  spdlog::default_logger()->set_level(spdlog::level::warn);
  LogEvent(spdlog::level::info, "x", {}, "quiet");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LogTest, UnknownWordsAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(SetUpLog("p", "loud", "text")));
  EXPECT_TRUE(absl::IsInvalidArgument(SetUpLog("p", "info", "xml")));
  EXPECT_TRUE(SetUpLog("p", "off", "json").ok());
}

TEST_F(LogTest, ARedirectionTakesTheLinesWhileItLives) {
  ASSERT_TRUE(SetUpLog("p", "warn", "text").ok());
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out_);
  sink->set_formatter(MakeLogFormatter(LogFormat::kText, "%n: %l: %v"));
  {
    const LogRedirection redirection(sink);
    spdlog::info("below the level");
    spdlog::warn("taken");
  }
  spdlog::warn("on standard error again");
  EXPECT_EQ(out_.str(), "p: warning: taken\n");
}

// As gRPC's threads do, which log when they like.
TEST_F(LogTest, AThreadMayLogWhileRedirectionsBeginAndEnd) {
  ASSERT_TRUE(SetUpLog("p", "info", "text").ok());
  const LogRedirection away(std::make_shared<spdlog::sinks::null_sink_mt>());
  std::atomic<bool> done = false;
  std::atomic<int> logged = 0;
  std::thread thread([&] {
    for (; !done; ++logged) spdlog::info("a line");
  });
  while (logged < 1000) {
    const LogRedirection redirection(std::make_shared<spdlog::sinks::null_sink_mt>());
  }
  done = true;
  thread.join();
}

TEST_F(LogTest, WhatIsSaidBesideTheLogIsJsonToo) {
  const json::object line = json::parse(JsonLogLine("p", "info", "say \"it\"\n")).as_object();
  EXPECT_EQ(line.at("message"), "say \"it\"\n");
  EXPECT_EQ(line.at("program"), "p");
}

}  // namespace
}  // namespace fetchbench
