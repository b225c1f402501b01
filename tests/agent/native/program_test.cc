// fetchbench-native as a program: input, output, signals, limits.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>

#include "tests/agent/native/process_fixture.h"

namespace fetchbench::native {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::Answer;
using testing::ChildProgram;
using ::testing::HasSubstr;
using testing::ScriptedConnection;
using testing::ScriptedServer;

class ProgramTest : public NativeProcessTest {};

TEST_F(ProgramTest, EveryLineGetsOneRecordWithItsUrlByteForByte) {
  const ScriptedServer server(Answer(kOk));
  const std::string url = Url(server, "/x,y");
  const std::string big = "https://a.test/" + std::string(1'000'000, 'x');
  const std::string nul("http://a.test/\0x", 16);
  const auto result =
      Run("\xef\xbb\xbf" + url + "\r\n\r\n" + url + "\n" + big + "\n" + nul + "\n\xff\xfe\n" + url);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, int> urls;
  for (const TargetLine& line : Records(result.out)) ++urls[line.url];
  EXPECT_EQ(urls[url], 3);
  EXPECT_EQ(urls[big], 1);
  EXPECT_EQ(urls[nul], 1);
  EXPECT_EQ(urls["\xff\xfe"], 1);
  EXPECT_EQ(urls.size(), 4u);
}

TEST_F(ProgramTest, AnEmptyListIsDoneAtOnce) {
  const auto result = Run("");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
}

TEST_F(ProgramTest, PlainFormatHasFiveFields) {
  const ScriptedServer server(Answer(kOk));
  const auto result = Run(Url(server) + "\nhttp://nxdomain.test/\n", {"--format", "plain"});
  EXPECT_THAT(result.out, HasSubstr(Url(server) + ",200,"));
  EXPECT_THAT(result.out, HasSubstr("http://nxdomain.test/,dns_not_found"));
}

TEST_F(ProgramTest, ManyFetchesOnTwoThreadsAllCount) {
  const ScriptedServer server(Answer(kOk));
  std::string input;
  for (int i = 0; i < 500; ++i) input += Url(server, "/" + std::to_string(i)) + "\n";
  const auto result = Run(input, {"--threads", "2", "--concurrency", "40"});
  const auto records = Records(result.out);
  ASSERT_EQ(records.size(), 500u);
  for (const TargetLine& line : records) ExpectOutcome(line.record, Outcome::kStatus);
}

TEST_F(ProgramTest, ConcurrencyIsABound) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  const ScriptedServer server([&now, &most](ScriptedConnection& connection) {
    most = std::max<int>(most, ++now);
    connection.ReadRequest();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --now;
    connection.Send(kOk);
  });
  std::string input;
  for (int i = 0; i < 60; ++i) input += Url(server) + "\n";
  EXPECT_EQ(Records(Run(input, {"--concurrency", "7", "--threads", "2"}).out).size(), 60u);
  EXPECT_LE(most, 7);
  EXPECT_GE(most, 2);
}

TEST_F(ProgramTest, RecordsComeWhileInputIsOpen) {
  const ScriptedServer server(Answer(kOk));
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments());
  child.Write(Url(server) + "\n");
  EXPECT_EQ(Records(child.ReadLines(1)).size(), 1u);
  child.Write(Url(server) + "\n");
  EXPECT_EQ(Records(child.ReadLines(2)).size(), 2u);
  EXPECT_EQ(child.Wait().exit_code, 0);
}

TEST_F(ProgramTest, InputIsReadOnlyAsItIsNeeded) {
  const ScriptedServer silent([](ScriptedConnection& connection) { connection.WaitForClose(); });
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments({"--concurrency", "2"}));
  std::thread writer([&child, &silent] {
    // Far more than pipe and program may hold; Write returns when the child ends.
    const std::string line = Url(silent) + "\n";
    std::string many;
    for (int i = 0; i < 100'000; ++i) many += line;
    child.Write(many);
  });
  while (silent.connections() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // time to read too much
  child.Signal(SIGTERM);
  const std::string out = child.ReadLines(2);
  child.Signal(SIGKILL);
  writer.join();
  EXPECT_EQ(Records(out).size(), 2u);
}

class SignalTest : public ProgramTest, public ::testing::WithParamInterface<int> {};

TEST_P(SignalTest, CutsWhatIsInFlightShortAndReportsIt) {
  const ScriptedServer silent([](ScriptedConnection& connection) { connection.WaitForClose(); });
  const ScriptedServer good(Answer(kOk));
  names_["silent.test"].kind = testing::DnsScript::Kind::kSilent;
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments({"--concurrency", "3"}));
  child.Write(Url(good) + "\n" + Url(silent) + "\nhttp://silent.test/\n");
  EXPECT_EQ(Records(child.ReadLines(1)).size(), 1u);
  while (silent.connections() < 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto begin = steady_clock::now();
  child.Signal(GetParam());
  const auto result = child.Wait();
  EXPECT_LT(steady_clock::now() - begin, seconds(5));
  EXPECT_EQ(result.exit_code, 128 + GetParam());
  const auto records = Records(result.out);
  ASSERT_EQ(records.size(), 3u) << result.out;
  for (size_t i = 1; i < 3; ++i) {
    ExpectOutcome(records[i].record, Outcome::kCancelled);
    EXPECT_GT(records[i].record.duration_us, 0);
    EXPECT_GT(records[i].record.start_us, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, SignalTest, ::testing::Values(SIGINT, SIGTERM));

TEST_F(ProgramTest, ASignalEndsItEvenWhenNobodyReadsTheRecords) {
  const ScriptedServer server(Answer(kOk));
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments());
  std::string input;
  for (int i = 0; i < 3000; ++i) input += "nonsense://" + std::string(100, 'x') + "\n";
  child.Write(input);  // fills the pipe of the records
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  child.Signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  child.CloseOutput();
  EXPECT_EQ(child.Wait().exit_code, 128 + SIGTERM);
}

TEST_F(ProgramTest, AClosedOutputEndsItWithAMessage) {
  const ScriptedServer server(Answer(kOk));
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments());
  child.CloseOutput();
  child.Write(Url(server) + "\n");
  const auto result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
}

TEST_F(ProgramTest, AConcurrencyBeyondTheDescriptorLimitIsRefused) {
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments({"--concurrency", "1000"}), {}, 256);
  const auto result = child.Wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("RLIMIT_NOFILE"));
  EXPECT_THAT(result.err, HasSubstr("256"));
}

TEST_F(ProgramTest, RunningOutOfDescriptorsEndsItWithoutAWrongRecord) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan needs a pipe to look at a vptr, and takes one it cannot look at for bad";
#endif
  const ScriptedServer silent([](ScriptedConnection& connection) { connection.WaitForClose(); });
  // The program cannot know that half of its descriptors were taken before it began.
  std::vector<int> inherited;
  for (int i = 0; i < 100; ++i) inherited.push_back(dup(STDERR_FILENO));
  ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments({"--concurrency", "100"}), {}, 200);
  for (const int fd : inherited) close(fd);
  std::string input;
  for (int i = 0; i < 100; ++i) input += Url(silent) + "\n";
  child.Write(input);
  const auto result = child.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("Too many open files"));
  EXPECT_EQ(result.out, "");
}

TEST_F(ProgramTest, AnUnreadableCaFileIsNamed) {
  const auto result = Run("", {"--ca-file", "/nonexistent.pem"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent.pem"));
}

TEST_F(ProgramTest, DescribeIsOneJsonObject) {
  const auto result = Run("", {"--describe"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* field : {"\"name\":\"native\"", "\"tls_library\"", "\"tls_groups\"", "\"libc\"",
                            "\"libraries\"", "\"version\"", "\"runtime\""}) {
    EXPECT_THAT(result.out, HasSubstr(field));
  }
}

TEST_F(ProgramTest, EnvironmentMeansTheSameAsOptions) {
  const ScriptedServer silent([](ScriptedConnection& connection) { connection.WaitForClose(); });
  dns_ = std::make_unique<testing::LoopbackDns>(names_);
  ChildProgram child(FETCHBENCH_NATIVE_PATH, {"--resolver", dns_->address()},
                     {{"REQUEST_TIMEOUT", "0.2"}, {"CA_FILE", ca_path_}});
  child.Write(Url(silent) + "\n");
  EXPECT_THAT(child.Wait().out, HasSubstr(",timeout_before_headers"));
}

}  // namespace
}  // namespace fetchbench::native
