#include "coordinator/ui/progress_display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "common/log.h"
#include "coordinator/ui/log_sink.h"
#include "fake_screen.h"
#include "pseudo_terminal.h"
#include "samples.h"

namespace fetchbench::coordinator {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ProgressDisplayTest : public ::testing::Test {
 protected:
  std::string Read() { return pty_.Read(); }

  PseudoTerminal pty_{80, 24};
  Terminal terminal_{pty_.slave(), FakeEnvironment({{"TERM", "xterm"}, {"NO_COLOR", "1"}})};
  FakeScreen screen_{80, 24};
  SteadyTime start_{std::chrono::hours(1)};
};

TEST_F(ProgressDisplayTest, DrawsAtMostTenTimesASecond) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  int drawn = 0;
  for (int ms = 0; ms < 1'000; ms += 5) {
    const SteadyTime now = start_ + milliseconds(ms);
    if (display.Due(now)) ++drawn;
    display.Update(SampleSnapshot(1), now);
  }
  EXPECT_EQ(drawn, 10);
}

TEST_F(ProgressDisplayTest, LogLinesStandAboveTheDisplayAndAreHarmless) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  display.Update(SampleSnapshot(1), start_);
  display.Log("host \x1b[2Jdown\nsecond line");
  screen_.Feed(Read());
  EXPECT_THAT(screen_.Lines()[0], "host \\x1b[2Jdown");
  EXPECT_THAT(screen_.Lines()[1], "second line");
  EXPECT_THAT(screen_.Lines()[2], StartsWith("native, 10,000 URLs"));
}

TEST_F(ProgressDisplayTest, FinishShowsTheVeryLastFigures) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  ProgressSnapshot snapshot = SampleSnapshot(1);
  display.Update(snapshot, start_);
  snapshot.done = 10'000;
  display.Update(snapshot, start_ + milliseconds(3));  // not due
  display.Finish(LastFrame::kKeep);
  display.Update(snapshot, start_ + milliseconds(900));
  display.Log("later");
  screen_.Feed(Read());
  EXPECT_THAT(screen_.Lines(), Contains(HasSubstr("10,000/10,000")));
  EXPECT_EQ(screen_.Lines().back(), "later");
  EXPECT_TRUE(screen_.cursor_visible());
}

TEST_F(ProgressDisplayTest, FinishCanLeaveTheScreenToTheSummary) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  display.Log("kept");
  display.Update(SampleSnapshot(50), start_);
  display.Finish(LastFrame::kErase);
  screen_.Feed(Read());
  EXPECT_THAT(screen_.Lines(), ElementsAre("kept"));
}

TEST_F(ProgressDisplayTest, PlainModePrintsALineEveryFiveSecondsWithoutEscapeCodes) {
  ProgressDisplay display(terminal_, ProgressMode::kPlain);
  for (int ms = 0; ms <= 11'000; ms += 50) {
    display.Update(SampleSnapshot(1), start_ + milliseconds(ms));
  }
  display.Log("a log line");
  display.Finish(LastFrame::kKeep);
  const std::string text = Read();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // two lines, the log, the last one
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a log line"));
}

TEST_F(ProgressDisplayTest, NoneIsSilentButForLogLines) {
  ProgressDisplay display(terminal_, ProgressMode::kNone);
  EXPECT_FALSE(display.Due(start_));
  display.Update(SampleSnapshot(1), start_);
  display.Log("only this");
  display.Finish(LastFrame::kKeep);
  EXPECT_EQ(Read(), "only this\r\n");
}

TEST_F(ProgressDisplayTest, AStalledTerminalCostsFramesAndIsToldWhatItMissed) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  const std::string line(1'000, 'x');
  for (int i = 0; i < 400; ++i) {
    display.Update(SampleSnapshot(50), start_ + milliseconds(i * 100));
    display.Log(line);
  }
  std::string all;
  for (std::string more = Read(); !more.empty(); more = pty_.Read(50)) {
    all += more;
    terminal_.Drain();
  }
  display.Log("back again");
  all += Read();
  EXPECT_THAT(all, AllOf(HasSubstr("lines were lost here"), HasSubstr("back again")));
}

TEST_F(ProgressDisplayTest, LogRecordsGoThroughTheDisplay) {
  ProgressDisplay display(terminal_, ProgressMode::kTerminal);
  display.Update(SampleSnapshot(1), start_);
  spdlog::logger logger("test", std::make_shared<DisplayLogSink>(display));
  logger.set_pattern("[%l] %v");
  logger.warn("agent {} is slow", 7);
  screen_.Feed(Read());
  EXPECT_EQ(screen_.Lines()[0], "[warning] agent 7 is slow");
}

TEST_F(ProgressDisplayTest, JsonLinesStandWholeAboveTheDisplay) {
  FakeScreen wide(1'000, 24);
  const PseudoTerminal pty(1'000, 24);
  Terminal terminal(pty.slave(), FakeEnvironment({{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  ProgressDisplay display(terminal, ProgressMode::kTerminal);
  display.SetLineFormat([](std::string_view text) { return JsonLogLine("test", "info", text); });
  display.Update(SampleSnapshot(1), start_);
  const auto before = spdlog::default_logger();
  auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<DisplayLogSink>(display));
  logger->set_formatter(MakeLogFormatter(LogFormat::kJson, "", {{"run", "r"}}));
  spdlog::set_default_logger(logger);
  LogEvent(spdlog::level::warn, "agent_away", {{"agent", "a"}}, "h\xc3\xa9\x1b[2J\nlast");
  LogChildLine(R"({"program":"agent","message":"of a child"})");
  display.Log("said beside");
  spdlog::set_default_logger(before);
  display.Update(SampleSnapshot(1), start_ + milliseconds(200));
  wide.Feed(pty.Read());
  const std::vector<std::string> lines = wide.Lines();
  ASSERT_GT(lines.size(), 3);
  const std::vector<std::string> messages{"h\xc3\xa9\x1b[2J\nlast", "of a child", "said beside"};
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(boost::json::parse(lines[i]).at("message").as_string(), messages[i]) << lines[i];
  }
  EXPECT_EQ(wide.unknown(), 0);
  EXPECT_THAT(lines[3], Not(HasSubstr("message"))) << "the display begins here, once";
}

TEST_F(ProgressDisplayTest, ModesFollowTheWordAndTheTerminal) {
  EXPECT_EQ(ParseProgressMode("auto", terminal_), ProgressMode::kTerminal);
  EXPECT_EQ(ParseProgressMode("none", terminal_), ProgressMode::kNone);
  EXPECT_EQ(ParseProgressMode("fancy", terminal_), std::nullopt);
  const Terminal dumb(pty_.slave(), FakeEnvironment({{"TERM", "dumb"}}));
  EXPECT_EQ(ParseProgressMode("auto", dumb), ProgressMode::kPlain);
}

// A child draws on the terminal and ends in its own way; what the terminal has got by then is
// returned.
std::string LastWordsOf(const PseudoTerminal& pty, Terminal& terminal, void (*end)()) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV,
           SIG_DFL);  // a sanitizer has a handler of its own, which the guard would respect
    ProgressDisplay display(terminal, ProgressMode::kTerminal);
    display.Update(SampleSnapshot(1), SteadyTime{});
    end();
    _exit(99);
  }
  const std::string all = pty.Read();
  int status = 0;
  waitpid(child, &status, 0);
  return all + pty.Read(10);
}

TEST_F(ProgressDisplayTest, TheCursorComesBackHoweverTheProcessEnds) {
  void (*const ends[])() = {[] { raise(SIGINT); },  [] { raise(SIGTERM); },
                            [] { raise(SIGSEGV); }, [] { raise(SIGABRT); },
                            [] { exit(0); },        [] { RestoreTerminalNow(); }};
  for (const auto end : ends) {
    FakeScreen screen(80, 24);
    screen.Feed(LastWordsOf(pty_, terminal_, end));
    EXPECT_TRUE(screen.cursor_visible());
    EXPECT_TRUE(screen.wraps());
    EXPECT_THAT(screen.Lines(), IsEmpty());
  }
}

TEST_F(ProgressDisplayTest, ASignalTheProgramHandlesItselfIsLeftToIt) {
  signal(SIGTERM, SIG_IGN);
  {
    ProgressDisplay display(terminal_, ProgressMode::kTerminal);
    display.Update(SampleSnapshot(1), start_);
    raise(SIGTERM);  // still ignored
  }
  struct sigaction after = {};
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace fetchbench::coordinator
