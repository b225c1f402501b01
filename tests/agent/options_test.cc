#include "agent/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ParsedOptions Parse(const std::vector<const char*>& more) {
  std::vector<const char*> argv{"fetchbench-agent"};
  argv.insert(argv.end(), more.begin(), more.end());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), "1.2.3");
}

TEST(AgentOptionsTest, SizesAreMebibytes) {
  const ParsedOptions parsed = Parse({"--memory-limit", "100", "--build-memory", "6"});
  ASSERT_TRUE(parsed.options);
  EXPECT_EQ(parsed.options->memory_limit_bytes, uint64_t{100} << 20);
  EXPECT_EQ(parsed.options->build_memory_bytes, uint64_t{6} << 20);
}

TEST(AgentOptionsTest, NumbersOutOfBoundsOrNoneAreRefused) {
  for (const char* option : {"--orphan-timeout=", "--build-timeout=", "--build-cpus="}) {
    for (const char* number : {"nan", "-nan", "inf", "-1", "0", "1e9", "1s", ""}) {
      const std::string argument = std::string(option) + number;
      ::testing::internal::CaptureStderr();
      const ParsedOptions parsed = Parse({argument.c_str()});
      const std::string said = ::testing::internal::GetCapturedStderr();
      EXPECT_FALSE(parsed.options) << argument;
      EXPECT_EQ(parsed.exit_code, 2) << argument;
      EXPECT_THAT(said, HasSubstr(argument.substr(0, argument.find('=')))) << argument;
    }
  }
  EXPECT_TRUE(Parse({"--orphan-timeout=0.5", "--build-cpus=1.5", "--build-timeout=60"}).options);
}

// As C reads numbers, 0100 is 64.
TEST(AgentOptionsTest, ASizeThatIsNoDecimalNumberWithinBoundsIsRefusedAndSaysWhatWouldBe) {
  for (const char* mib : {"0100", "0x100", "0b1000000", "0", "00", "-64", "+64", "63", "64.5",
                          "64M", "1e3", " 64", "1048577", "99999999999999999999", "much"}) {
    for (const char* option : {"--memory-limit=", "--build-memory="}) {
      if (option == std::string("--build-memory=") && mib == std::string("63")) continue;
      const std::string argument = std::string(option) + mib;
      ::testing::internal::CaptureStderr();
      const ParsedOptions parsed = Parse({argument.c_str()});
      const std::string said = ::testing::internal::GetCapturedStderr();
      EXPECT_FALSE(parsed.options) << argument;
      EXPECT_EQ(parsed.exit_code, 2) << argument;
      EXPECT_THAT(said, AllOf(HasSubstr(argument.substr(0, argument.find('='))),
                              HasSubstr("whole number of MiB from "), HasSubstr(" to 1048576")));
    }
  }
}

}  // namespace
}  // namespace fetchbench::agent
