#include "coordinator/ui/terminal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "pseudo_terminal.h"

namespace fetchbench::coordinator {
namespace {

TEST(TerminalTest, AsksForTheSizeEachTime) {
  const PseudoTerminal pty(80, 24);
  const Terminal terminal(pty.slave(),
                          FakeEnvironment({{"TERM", "xterm"}, {"LANG", "de_DE.UTF-8"}}));
  EXPECT_TRUE(terminal.is_terminal());
  EXPECT_TRUE(terminal.can_move_cursor());
  EXPECT_EQ(terminal.Style().width, 80);
  EXPECT_TRUE(terminal.Style().colour);
  EXPECT_TRUE(terminal.Style().utf8);
  pty.Resize(200, 50);
  EXPECT_EQ(terminal.Style().width, 200);
  EXPECT_EQ(terminal.Style().height, 50);
  pty.Resize(3, 1);  // unusable: drawn as if it were the least we support
  EXPECT_EQ(terminal.Style().width, 20);
}

TEST(TerminalTest, AnUnknownSizeComesFromTheEnvironmentOrIsTheUsual) {
  const PseudoTerminal pty(0, 0);
  EXPECT_EQ(Terminal(pty.slave(), FakeEnvironment({})).Style().width, 80);
  const Terminal told(pty.slave(), FakeEnvironment({{"COLUMNS", "132"}, {"LINES", "43"}}));
  EXPECT_EQ(told.Style().width, 132);
  EXPECT_EQ(told.Style().height, 43);
  const Terminal nonsense(pty.slave(), FakeEnvironment({{"COLUMNS", "wide"}, {"LINES", "-3"}}));
  EXPECT_EQ(nonsense.Style().width, 80);
  EXPECT_EQ(nonsense.Style().height, 24);
}

TEST(TerminalTest, ColourAndCursorNeedAFittingTerminal) {
  const PseudoTerminal pty(80, 24);
  const Terminal dumb(pty.slave(), FakeEnvironment({{"TERM", "dumb"}}));
  EXPECT_FALSE(dumb.can_move_cursor());
  EXPECT_FALSE(dumb.Style().colour);
  const Terminal plain(pty.slave(), FakeEnvironment({{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(plain.can_move_cursor());
  EXPECT_FALSE(plain.Style().colour);
  const Terminal empty(pty.slave(), FakeEnvironment({{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_TRUE(empty.Style().colour);
}

TEST(TextStyleTest, TheLocalesCharacterSetIsThatOfTheFirstVariableThatIsSet) {
  EXPECT_TRUE(IsUtf8Locale(FakeEnvironment({{"LANG", "C.UTF-8"}})));
  EXPECT_TRUE(IsUtf8Locale(FakeEnvironment({{"LANG", "en_GB.utf8@euro"}})));
  EXPECT_FALSE(IsUtf8Locale(FakeEnvironment({{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}})));
  EXPECT_TRUE(IsUtf8Locale(FakeEnvironment({{"LC_ALL", ""}, {"LANG", "C.UTF-8"}})));
  EXPECT_FALSE(IsUtf8Locale(FakeEnvironment({{"LANG", "de_DE.ISO-8859-1"}})));
  EXPECT_FALSE(IsUtf8Locale(FakeEnvironment({})));
}

class PipeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_.data()), 0); }
  void TearDown() override {
    close(ends_[1]);
    if (ends_[0] >= 0) close(ends_[0]);
  }
  std::string ReadAll(size_t size) {
    std::string all;
    std::array<char, 65'536> buffer{};
    while (all.size() < size) {
      const ssize_t n = read(ends_[0], buffer.data(), buffer.size());
      if (n <= 0) break;
      all.append(buffer.data(), static_cast<size_t>(n));
    }
    return all;
  }
  std::array<int, 2> ends_ = {-1, -1};
};

TEST_F(PipeTest, AFileOrPipeIsWideAndColourless) {
  const Terminal terminal(ends_[1], FakeEnvironment({{"TERM", "xterm"}}));
  EXPECT_FALSE(terminal.is_terminal());
  EXPECT_FALSE(terminal.Style().colour);
  EXPECT_EQ(terminal.Style().width, Terminal::kFileWidth);
}

TEST_F(PipeTest, NobodyReadingNeitherBlocksNorLosesWhatWasTaken) {
  Terminal terminal(ends_[1], FakeEnvironment({}));
  const std::string line = std::string(999, 'x') + "\n";
  size_t taken = 0;
  while (terminal.Write(line)) ++taken;  // ends only because the bound is reached
  EXPECT_GE(taken * line.size(), Terminal::kMaxPendingBytes - line.size());
  EXPECT_FALSE(terminal.Flush(std::chrono::milliseconds(1)));
  std::string read;
  while (!terminal.Drain()) read += ReadAll(1);
  read += ReadAll(taken * line.size() - read.size());
  ASSERT_EQ(read.size(), taken * line.size());
  for (size_t i = 0; i < taken; ++i) ASSERT_EQ(read.substr(i * 1'000, 1'000), line);
}

TEST_F(PipeTest, WhatIsWrittenToABrokenPipeIsDropped) {
  signal(SIGPIPE, SIG_IGN);
  Terminal terminal(ends_[1], FakeEnvironment({}));
  close(ends_[0]);
  ends_[0] = -1;
  EXPECT_TRUE(terminal.Write("x"));
  EXPECT_TRUE(terminal.Drain());
}

TEST(TerminalTest, AStalledTerminalDoesNotBlock) {
  const PseudoTerminal pty(80, 24);
  Terminal terminal(pty.slave(), FakeEnvironment({{"TERM", "xterm"}}));
  const std::string frame(3'000, 'x');
  int taken = 0;
  while (terminal.Write(frame)) ++taken;
  EXPECT_GT(taken, 80);
  size_t read = 0;
  while (!terminal.Drain()) read += pty.Read().size();
  read += pty.Read().size();
  EXPECT_EQ(read, static_cast<size_t>(taken) * frame.size());
}

}  // namespace
}  // namespace fetchbench::coordinator
