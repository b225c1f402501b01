// Whole runs with the agent that the coordinator starts itself.

#include <fmt/format.h>

#include <sstream>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class RunTest : public RunFixture {};

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(RunTest, APipedListEndsWithASummary) {
  const auto run = Run(List(100), {"--concurrency", "20"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), StartsWith("Web: simulated"));
  EXPECT_THAT(run->output(), HasSubstr("totalUrls"));
  EXPECT_EQ(Ask("SELECT count(*) FROM records"), "100");
  ExpectBalanced();
}

TEST_F(RunTest, WritesTheRunFolder) {
  const auto run = Run(List(3), {"--seed", "7"});
  ASSERT_EQ(exit_, 0) << run->error();
  const std::string text = folder_.Read(Latest("run.json"));
  boost::system::error_code error;
  const boost::json::value json = boost::json::parse(text, error);
  ASSERT_FALSE(error) << text;
  EXPECT_EQ(json.at("simulated_web").at("seed").to_number<int>(), 7);
  EXPECT_EQ(json.at("options").at("target").as_string(), "native");
  EXPECT_EQ(json.at("agents").as_array().size(), 1u);
  EXPECT_THAT(folder_.Read(Latest("summary.json")), HasSubstr("totalUrls"));
}

TEST_F(RunTest, AListWithoutAUrlIsAUsageErrorAndNamed) {
  const auto run = Run("\n# nothing\n", {});
  EXPECT_EQ(exit_, 2) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("the URL list standard input holds no URL"));
  folder_.Write("empty", "");
  Program of_file(Command({"--urls", folder_.File("empty")}));
  EXPECT_EQ(of_file.WaitForExit(), 2) << of_file.error();
  EXPECT_THAT(of_file.error(), HasSubstr("the URL list " + folder_.File("empty") + " holds no"));
  EXPECT_THAT(of_file.output() + run->output(), IsEmpty());
}

TEST_F(RunTest, AListOfWrongLinesAloneIsMarked) {
  const auto run = Run("not a url\n", {});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(boost::json::serialize(Summary().at("marks")), HasSubstr("no_url"));
  ExpectBalanced();
}

TEST_F(RunTest, RecordsLinesThatAreNoUrlAndNamesThem) {
  const auto run = Run("h1.example\n\nnot a url\nhttps://h2.example/\n", {});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("standard input:3: a space inside the URL"));
  EXPECT_EQ(Ask("SELECT count(*) FROM records"), "3");
  EXPECT_EQ(Ask("SELECT error FROM records WHERE outcome='invalid_url'"),
            "standard input:3: a space inside the URL (write it as %20)");
  ExpectBalanced();
}

// They would be connected to past the simulated DNS: a stranger's server, or one of this machine.
TEST_F(RunTest, InTheSimulatedWebAddressesAreNotContacted) {
  const auto run = Run("http://127.0.0.1:1/\nhttp://localhost:1/\nh1.example\n", {});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("standard input:1: an address, and the simulated web has"));
  EXPECT_EQ(Ask("SELECT group_concat(outcome) FROM (SELECT outcome FROM records ORDER BY idx)"),
            "invalid_url,invalid_url,status");
  ExpectBalanced();
}

TEST_F(RunTest, NamesOnlyTheFirstTenWrongLinesAndRecordsAll) {
  std::string list;
  for (int i = 0; i < 5000; ++i) list += "no url\n";
  const auto run = Run(list, {});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("standard input:10:"));
  EXPECT_THAT(run->error(), Not(HasSubstr("standard input:11:")));
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE outcome='invalid_url'"), "5000");
  ExpectBalanced();
}

TEST_F(RunTest, LimitTakesTheFirstUrls) {
  const auto run = Run(List(50), {}, {{"LIMIT", "7"}});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(Ask("SELECT count(*)||' '||max(idx) FROM records"), "7 6");
}

TEST_F(RunTest, DuplicatesAreRecordsOfTheirOwn) {
  const auto run = Run("a.example\na.example\na.example\n", {});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE url='https://a.example'"), "3");
}

TEST_F(RunTest, JsonIsOneObject) {
  const auto run = Run(List(20), {}, {{"FORMAT", "result"}});
  EXPECT_EQ(exit_, 0) << run->error();
  boost::system::error_code error;
  const auto json = boost::json::parse(run->output(), error);
  ASSERT_FALSE(error) << run->output();
  EXPECT_EQ(json.at("totalUrls").to_number<int>(), 20);
}

TEST_F(RunTest, CsvIsAHeaderAndARow) {
  const auto run = Run(List(20), {"--format", "csv"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(LinesOf(run->output()), 2u) << run->output();
}

TEST_F(RunTest, PlainIsOneLineAUrlAndNothingElse) {
  const auto run = Run(List(50, "/a,b"), {"--format", "plain"});
  EXPECT_EQ(exit_, 0) << run->error();
  ASSERT_EQ(LinesOf(run->output()), 50u) << run->output();
  std::istringstream lines(run->output());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("https://h"));
    EXPECT_THAT(line, HasSubstr(".example/a,b,"));
  }
}

TEST_F(RunTest, RecordsFormatEndsWithTheTable) {
  const auto run = Run(List(10), {"--format", "records"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->output(), HasSubstr("https://h9.example/"));
  EXPECT_THAT(run->output(), HasSubstr("totalUrls"));
}

TEST_F(RunTest, PasswordsAreNotPrinted) {
  const auto run =
      Run("https://user:secret@h1.example/\nhttps://user:secret@h 2/\n", {"--format", "plain"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->output() + run->error(), Not(HasSubstr("secret")));
  EXPECT_EQ(Ask("SELECT count(*) FROM record WHERE url LIKE '%user:secret@h1%'"), "1");
}

TEST_F(RunTest, AReaderThatHadEnoughEndsTheRunCleanly) {
  for (const char* format : {"plain", "records"}) {
    Program run(Command({"--format", format, "--concurrency", "50"}));
    run.Write(List(20'000));
    run.CloseInput();
    ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
    run.CloseOutput();
    EXPECT_EQ(run.WaitForExit(), 141) << run.error();
    EXPECT_THAT(run.error(), HasSubstr("To go on with this run: "));
    EXPECT_THAT(run.error(), Not(HasSubstr("coordinator: ")));
    ExpectBalanced();
  }
}

TEST_F(RunTest, ReachingDurationIsANormalEnd) {
  Program run(Command({"--concurrency", "2", "--duration", "0.5"}, "sim:published"));
  run.Write(List(5000));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  ExpectBalanced();
  EXPECT_EQ(Summary().at("end").as_string(), "duration_reached");
  EXPECT_GT(Summary().at("ledger").at("never_started").to_number<int>(), 0);
}

TEST_F(RunTest, AUrlThatNeverAnswersTakesTheTimeout) {
  Program run(Command({"--timeout", "0.7"}, "sim:published"));
  run.Write("https://edwardsnowden.com\n");
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_THAT(Ask("SELECT outcome FROM records"), HasSubstr("timeout"));
}

TEST_F(RunTest, ClientAndOriginAgree) {
  const auto run = Run(List(300), {"--concurrency", "50", "--format", "json"});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE outcome='status'"), "300");
  EXPECT_EQ(Summary().at("origin").at("responses").at("200").to_number<int>(), 300);
}

TEST_F(RunTest, UnreadableListsAreUsageErrors) {
  for (const std::string& urls : {std::string("/no/such/list"), std::string("/tmp")}) {
    Program run(Command({"--urls", urls}));
    EXPECT_EQ(run.WaitForExit(), 2) << run.error();
    EXPECT_THAT(run.error(), HasSubstr(urls));
  }
}

TEST_F(RunTest, AWrongProfileIsSaidByTheOrigin) {
  Program run(Command({}, "sim:nosuchprofile"));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 2);
  EXPECT_THAT(run.error(), HasSubstr("nosuchprofile"));
}

TEST_F(RunTest, AnUnknownLogLevelDoesNotSilenceTheOrigin) {
  Program origin({Bin("fetchbench-origin"), "--log-level", "loud"});
  EXPECT_EQ(origin.WaitForExit(std::chrono::seconds(20)), 2);
  EXPECT_THAT(origin.error(), HasSubstr("loud"));
}

TEST_F(RunTest, AFileIsNoFolderForRuns) {
  const std::string file = folder_.File("file");
  folder_.Write("file", "");
  for (const std::string& out : {file, file + "/below"}) {
    const std::string why = fmt::format("--out {}: {} is a file, not a folder", out, file);
    Program run({Bin("fetchbench-coordinator"), "run", "native", "--out", out});
    run.CloseInput();
    EXPECT_EQ(run.WaitForExit(), 2);
    EXPECT_THAT(run.error(), HasSubstr(why));
  }
}

TEST_F(RunTest, AFolderThatCannotBeWrittenIsSaid) {
  Program run({Bin("fetchbench-coordinator"), "run", "--target", "native", "--out", "/proc/x"});
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 1);
  EXPECT_THAT(run.error(), HasSubstr("/proc/x"));
}

TEST_F(RunTest, ATemporaryFolderThatIsNotThereIsDoneWithout) {
  const auto run = Run(List(5), {}, {{"TMPDIR", "/no/such/folder"}});
  EXPECT_EQ(exit_, 0) << run->error();
  ExpectBalanced();
}

TEST_F(RunTest, LeavesNoProcessBehind) {
  Program run(Command({"--concurrency", "10", "--format", "plain"}, "sim:published"));
  run.Write(List(20));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  const auto children = Descendants(run.pid());
  EXPECT_THAT(children, Not(IsEmpty()));
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_THAT(StillAlive(children), IsEmpty());
}

}  // namespace
}  // namespace fetchbench::test
