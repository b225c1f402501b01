#include "agent/native/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace fetchbench::native {
namespace {

using ::testing::HasSubstr;

std::variant<Options, EarlyExit> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "fetchbench-native");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
}

Options Good(std::vector<const char*> arguments) {
  auto parsed = Parse(std::move(arguments));
  const auto* options = std::get_if<Options>(&parsed);
  EXPECT_NE(options, nullptr) << std::get<EarlyExit>(parsed).text;
  return options != nullptr ? *options : Options();
}

EarlyExit Bad(std::vector<const char*> arguments) {
  auto parsed = Parse(std::move(arguments));
  const auto* early = std::get_if<EarlyExit>(&parsed);
  EXPECT_NE(early, nullptr);
  return early != nullptr ? *early : EarlyExit();
}

TEST(OptionsTest, DefaultsAreTheDocumentedOnes) {
  const Options options = Good({});
  EXPECT_EQ(options.concurrency, 10u);
  EXPECT_EQ(options.timeout, std::chrono::seconds(5));
  EXPECT_EQ(options.max_body, uint64_t{256} << 20);
  EXPECT_EQ(options.max_redirects, 10);
  EXPECT_THAT(options.user_agent, ::testing::StartsWith("fetchbench/"));
}

TEST(OptionsTest, AnOptionWinsOverItsEnvironmentVariable) {
  setenv("CONCURRENCY", "77", 1);
  setenv("REQUEST_TIMEOUT", "1.5", 1);
  EXPECT_EQ(Good({}).concurrency, 77u);
  EXPECT_EQ(Good({}).timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(Good({"--concurrency", "5"}).concurrency, 5u);
  unsetenv("CONCURRENCY");
  unsetenv("REQUEST_TIMEOUT");
}

TEST(OptionsTest, ResolverTakesAPortAndConnectToRepeats) {
  EXPECT_EQ(Good({"--resolver", "127.0.0.1"}).resolver, "127.0.0.1:53");
  EXPECT_EQ(Good({"--resolver", "[::1]:5353"}).resolver, "[::1]:5353");
  EXPECT_EQ(Good({"--connect-to", ":80::81", "--connect-to", ":443::444"}).connect_to.size(), 2u);
}

TEST(OptionsTest, WrongUsageExitsWith2AndSaysWhat) {
  EXPECT_EQ(Bad({"--concurrency", "0"}).code, 2);
  EXPECT_EQ(Bad({"--timeout", "-1"}).code, 2);
  EXPECT_EQ(Bad({"--format", "xml"}).code, 2);
  EXPECT_THAT(Bad({"--format", "xml"}).text,
              HasSubstr("--format: 'xml' is none of jsonl, plain\n"));
  EXPECT_EQ(Bad({"--no-such-option"}).code, 2);
  EXPECT_THAT(Bad({"--resolver", "dns.test"}).text, HasSubstr("dns.test"));
  EXPECT_THAT(Bad({"--connect-to", "x"}).text, HasSubstr("--connect-to"));
  EXPECT_THAT(Bad({"--user-agent", "a\r\nb"}).text, HasSubstr("line breaks"));
}

TEST(OptionsTest, WordsAreTakenInAnyCaseAndTheLastOneCounts) {
  EXPECT_EQ(Good({"--format", "JsonL"}).format, RecordFormat::kJsonl);
  EXPECT_EQ(Good({"--format", "jsonl", "--format", "plain"}).format, RecordFormat::kPlain);
  EXPECT_EQ(Good({"--ip=v4"}).ip_version, IpVersion::kV4);
  EXPECT_EQ(Good({}).ip_version, IpVersion::kAuto);
}

TEST(OptionsTest, HelpAndVersionExitWith0) {
  EXPECT_THAT(Bad({"--help"}).text, HasSubstr("--format jsonl|plain=plain"));
  EXPECT_EQ(Bad({"--help"}).code, 0);
  EXPECT_THAT(Bad({"--version"}).text, HasSubstr("fetchbench-native"));
}

}  // namespace
}  // namespace fetchbench::native
