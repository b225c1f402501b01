// Standard streams that are closed or full.

#include <string>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StreamsTest : public RunFixture {
 protected:
  // `command` in a shell, which knows redirections that Program does not.
  static Program Shell(const std::string& command) { return Program({"/bin/sh", "-c", command}); }

  // A run of ten URLs with `redirections`.
  Program ShellRun(const std::string& redirections, const std::vector<std::string>& options = {}) {
    const std::string list = folder_.File("list");
    std::string command = "exec";
    for (const std::string& word : Command(options)) command += " '" + word + "'";
    return Shell("printf '" + List(10) + "' >" + list + "; " + command + " --urls " + list + " " +
                 redirections);
  }
};

TEST_F(StreamsTest, ClosedStreamsDoNoHarm) {
  for (const char* closed : {"<&-", "<&- >/dev/null", ">/dev/null 2>&-", "<&- >/dev/null 2>&-"}) {
    Program run = ShellRun(closed);
    EXPECT_EQ(run.WaitForExit(), 0) << closed << run.error();
    ExpectBalanced();
  }
}

TEST_F(StreamsTest, WithoutAStandardInputTheFetcherHasNothingToDo) {
  for (const char* closed : {"<&-", "<&- 2>&-"}) {
    Program native = Shell("exec " + Bin("fetchbench-native") + " " + closed);
    EXPECT_EQ(native.WaitForExit(), 0) << closed << native.error();
  }
}

TEST_F(StreamsTest, ASummaryThatCannotBeWrittenIsAnError) {
  for (const char* format : {"pretty", "json", "csv"}) {
    Program run = ShellRun(">/dev/full", {"--format", format});
    EXPECT_EQ(run.WaitForExit(), 1) << format;
    EXPECT_THAT(run.error(), HasSubstr("No space left on device"));
    ExpectBalanced();
  }
}

TEST_F(StreamsTest, RecordsThatCannotBeWrittenAreAnErrorAndMakeTheRunIncomplete) {
  for (const char* format : {"plain", "records"}) {
    Program run = ShellRun(">/dev/full", {"--format", format});
    EXPECT_EQ(run.WaitForExit(), 1) << format;
    EXPECT_THAT(run.error(),
                AllOf(HasSubstr("standard output: "), HasSubstr("No space left on device")))
        << format;
    // Unless the last record was committed before its line could not be written.
    const bool can_go_on = Summary().at("end").as_string() != "complete";
    EXPECT_EQ(run.error().find("To go on with this run: ") != std::string::npos, can_go_on)
        << run.error();
    ExpectBalanced();
  }
}

// The disk is full in the middle of it.
TEST_F(StreamsTest, ARunThatIsResumedTellsOfRecordsThatCannotBeWrittenToo) {
  Program run = ShellRun(">/dev/full", {"--format", "plain"});
  ASSERT_EQ(run.WaitForExit(), 1) << run.error();
  ASSERT_THAT(run.error(), HasSubstr("coordinator resume ")) << "there is nothing left to do";
  Program resumed =
      Shell("exec " + Bin("fetchbench-coordinator") + " resume --out " + Out() + " >/dev/full");
  EXPECT_EQ(resumed.WaitForExit(), 1) << resumed.error();
  EXPECT_THAT(resumed.error(), HasSubstr("No space left on device"));
}

TEST_F(StreamsTest, AReaderThatIsSlowGetsEveryRecordOfARunThatItsDurationEnded) {
  Program run(Command({"--format", "plain", "--duration", "1"}));
  run.Write(List(20'000));
  run.CloseInput();
  std::this_thread::sleep_for(std::chrono::seconds(4));  // reading nothing; the pipe is full
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  const auto lines = std::count(run.output().begin(), run.output().end(), '\n');
  EXPECT_EQ(std::to_string(lines), Ask("SELECT count(*) FROM record"));
  ExpectBalanced();
}

TEST_F(StreamsTest, AnythingElseThatCannotBeWrittenIsAnErrorToo) {
  for (const char* command :
       {"fetchbench-coordinator --help", "fetchbench-coordinator --version",
        "fetchbench-coordinator targets", "fetchbench-coordinator needs-engine run native",
        "fetchbench-coordinator agents --agents 127.0.0.1:1",
        "fetchbench-coordinator agents --format json --agents 127.0.0.1:1",
        "fetchbench-coordinator cancel --agents 127.0.0.1:1",
        "fetchbench-coordinator verify native --only dns-nxdomain --no-resources --format json",
        "fetchbench-coordinator import-urls --input-format tranco", "fetchbench-native --describe",
        "fetchbench-agent --help", "fetchbench-agent --version", "fetchbench-origin --help",
        "fetchbench-origin --version"}) {
    Program program = Shell("echo 1,a.example | " + Bin(command) + " >/dev/full");
    EXPECT_EQ(program.WaitForExit(), 1) << command;
    EXPECT_THAT(program.error(), HasSubstr("No space left on device")) << command;
  }
}

TEST_F(StreamsTest, AComplaintThatNobodyCanReadChangesNoExitCode) {
  for (const char* command : {"fetchbench-coordinator bake", "fetchbench-native --bake"}) {
    Program program = Shell("exec " + Bin(command) + " 2>/dev/full");
    EXPECT_EQ(program.WaitForExit(), 2) << command;
  }
}

}  // namespace
}  // namespace fetchbench::test
