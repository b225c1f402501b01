// What the agent reads from /proc and from options: pure parsers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/cpu_sampler.h"
#include "agent/host_facts.h"
#include "agent/listen_address.h"
#include "agent/native_command.h"
#include "agent/process/cpu_list.h"
#include "agent/process/open_files.h"
#include "agent/process/proc_usage.h"
#include "agent/target_facts.h"
#include "agent/text_tail.h"

namespace fetchbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST(CpuListTest, ReadsNumbersAndRanges) {
  EXPECT_THAT(*ParseCpuList("1"), ElementsAre(1));
  EXPECT_THAT(*ParseCpuList("4-6,0,5"), ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(*ParseCpuList(""), IsEmpty());
  for (const char* bad :
       {"a", "1-", "-1", "3-1", "1,", ",1", "1,,2", "99999", "1 2", "0x1", "1-2-3"}) {
    EXPECT_FALSE(ParseCpuList(bad).ok()) << bad;
  }
}

TEST(ProcUsageTest, NameMayHoldBlanksAndParentheses) {
  const std::string text = "12 (a b) c) S 1 12 12 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 99";
  const auto times = ParseProcStat(text, 100);
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->user_us, 2'500'000);
  EXPECT_EQ(times->system_us, 500'000);
  for (const char* bad : {"", "12 (x", "12 (x)", "12 (x) S 1", "(x) S a b c d e f g h i j k l m"}) {
    EXPECT_FALSE(ParseProcStat(bad, 100).has_value()) << bad;
  }
}

TEST(ProcUsageTest, StatusFieldsAreKibibytes) {
  const std::string text = "Name:\tx\nVmHWM:\t    1024 kB\nVmRSS:\t     512 kB\n";
  EXPECT_EQ(StatusBytes(text, "VmRSS"), 512 * 1024);
  EXPECT_EQ(StatusBytes(text, "VmHWM"), 1024 * 1024);
  EXPECT_EQ(StatusBytes("State:\tZ (zombie)\n", "VmRSS"), 0);
}

TEST(ProcUsageTest, ReadsThisProcess) {
  const TargetUsage usage = LiveUsage(getpid());
  EXPECT_GT(usage.rss_bytes, 0);
  EXPECT_GE(usage.peak_rss_bytes, usage.rss_bytes);
}

TEST(OpenFilesTest, SocketsAreCountedAmongThem) {
  const OpenFiles before = ReadOpenFiles({getpid()});
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const OpenFiles after = ReadOpenFiles({getpid(), -1});
  close(fd);
  EXPECT_GE(before.files, 3);
  EXPECT_EQ(after.files, before.files + 1);
  EXPECT_EQ(after.sockets, before.sockets + 1);
}

TEST(OpenFilesTest, LookingAgainSoonCostsNothing) {
  OpenFileCounter counter;
  const SteadyTime now = std::chrono::steady_clock::now();
  const OpenFiles first = counter.Count({getpid()}, now);
  EXPECT_EQ(counter.Count({}, now).files, first.files);
  EXPECT_EQ(counter.Count({}, now + std::chrono::hours(1)).files, 0);
}

constexpr std::string_view kBefore =
    "cpu  1 1 1 1\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 100 0 100 800 0 0 0 0 0 0\nintr 5\n";
constexpr std::string_view kAfter =
    "cpu  1 1 1 1\ncpu0 150 0 100 850 0 0 0 0 0 0\ncpu1 190 0 100 805 0 0 0 5 0 0\nintr 5\n";

TEST(CpuSamplerTest, TellsTheTargetsCpusFromTheOthers) {
  const CpuTable before = ParseCpuTable(kBefore);
  const CpuTable after = ParseCpuTable(kAfter);
  const CpuLoad load = LoadBetween(before, after, {1});
  EXPECT_EQ(load.other_busy, 500);
  EXPECT_EQ(load.target_busy, 950);
  EXPECT_EQ(load.steal, 25);
  const CpuLoad unpinned = LoadBetween(before, after, {});
  EXPECT_EQ(unpinned.other_busy, 0);
  EXPECT_EQ(unpinned.target_busy, 950);
}

TEST(CpuSamplerTest, SurvivesNoTimeBackwardCountersAndNewCpus) {
  const CpuTable before = ParseCpuTable(kBefore);
  EXPECT_EQ(LoadBetween(before, before, {1}).target_busy, 0);
  EXPECT_LE(LoadBetween(ParseCpuTable(kAfter), before, {1}).target_busy, 1000);
  EXPECT_EQ(LoadBetween({}, before, {1}).steal, 0);
  EXPECT_THAT(ParseCpuTable("garbage\ncpuX 1 2\ncpu"), IsEmpty());
}

TEST(HostFactsTest, ReadsSystemFiles) {
  EXPECT_EQ(OsName("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(CpuModel("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\nmodel name\t: other\n"),
            "Some CPU @ 2GHz");
  EXPECT_EQ(CpuModel(""), "");
  const v1::HostFacts facts = ReadHostFacts({0, 1}, {1});
  EXPECT_NE(facts.hostname(), "");
  EXPECT_NE(facts.kernel(), "");
  EXPECT_THAT(facts.boot_id(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_GT(facts.memory_bytes(), 0);
  EXPECT_GT(facts.max_open_files(), 0);
  EXPECT_EQ(facts.cpus(), 2);
  EXPECT_THAT(facts.target_cpus(), ElementsAre(1));
}

TEST(ListenAddressTest, ReadsTcpAndUnix) {
  EXPECT_EQ(ParseListenAddress("127.0.0.1:0")->host, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress("[::1]:7311")->port, 7311);
  EXPECT_EQ(ParseListenAddress("unix:/run/x/agent.sock")->socket_path, "/run/x/agent.sock");
  EXPECT_EQ(ParseListenAddress("unix:/run/x/agent.sock")->Text(), "unix:/run/x/agent.sock");
  const std::string long_path = "unix:/" + std::string(200, 'x');
  for (const std::string& bad :
       {std::string("7311"), std::string(":7311"), std::string("host:"), std::string("host:70000"),
        std::string("host:-1"), std::string("::1:7311"), std::string("unix:"), long_path}) {
    EXPECT_FALSE(ParseListenAddress(bad).ok()) << bad;
  }
}

TEST(NativeCommandTest, PassesEveryOption) {
  v1::FetchOptions o;
  o.set_concurrency(150);
  o.set_timeout_ms(2'050);
  o.set_user_agent("x y");
  o.set_max_body_bytes(1000);
  o.set_threads(2);
  o.set_resolver("127.0.0.1:53");
  o.add_connect_to(":80::81");
  o.add_connect_to(":443::444");
  o.set_ca_pem("PEM");
  o.set_deny_private_addresses(true);
  const TargetCommand command = NativeCommand("/p", o);
  EXPECT_THAT(command.argv,
              ElementsAre("/p", "--format", "jsonl", "--concurrency", "150", "--timeout", "2.050",
                          "--user-agent", "x y", "--max-body", "1000", "--threads", "2",
                          "--resolver", "127.0.0.1:53", "--connect-to", ":80::81", "--connect-to",
                          ":443::444", "--deny-private", "--ca-file", "/proc/self/fd/3"));
  EXPECT_EQ(command.ca_pem, "PEM");
}

TEST(NativeCommandTest, RefusesOptionsOutOfRange) {
  v1::FetchOptions good;
  good.set_concurrency(1);
  good.set_timeout_ms(1);
  EXPECT_TRUE(CheckOptions(good).ok());
  v1::FetchOptions o = good;
  o.set_concurrency(0);
  EXPECT_FALSE(CheckOptions(o).ok());
  o.set_concurrency(UINT32_MAX);
  EXPECT_FALSE(CheckOptions(o).ok());
  o = good;
  o.set_timeout_ms(0);
  EXPECT_FALSE(CheckOptions(o).ok());
  o = good;
  o.set_user_agent(std::string("a\0b", 3));
  EXPECT_FALSE(CheckOptions(o).ok());
  o = good;
  o.add_connect_to(std::string(1 << 20, 'x'));
  EXPECT_FALSE(CheckOptions(o).ok());
}

TEST(TargetFactsTest, ReadsWhatIsThereAndRefusesWhatIsNoObject) {
  const auto facts =
      ParseTargetFacts(R"({"name":"n","libraries":["a",1,"b"],"tls_library":7,"more":{}})");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->name(), "n");
  EXPECT_THAT(facts->libraries(), ElementsAre("a", "b"));
  EXPECT_EQ(facts->tls_library(), "");
  for (const char* bad : {"", "[]", "{", "hello", "{}{}"})
    EXPECT_FALSE(ParseTargetFacts(bad).ok()) << bad;
}

TEST(TextTailTest, KeepsTheEndFromALinesStart) {
  TextTail tail(10);
  for (int i = 0; i < 1000; ++i) tail.Append("abc\ndef\n");
  EXPECT_EQ(tail.Text(), "abc\ndef\n");
  TextTail single(4);
  single.Append("0123456789");
  EXPECT_EQ(single.Text(), "6789");
}

}  // namespace
}  // namespace fetchbench::agent
