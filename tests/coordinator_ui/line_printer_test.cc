#include "coordinator/ui/line_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_screen.h"
#include "pseudo_terminal.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LinePrinterTest : public ::testing::Test {
 protected:
  void Pump() { screen_.Feed(pty_.Read()); }

  PseudoTerminal pty_{40, 8};
  Terminal terminal_{pty_.slave(), FakeEnvironment({{"TERM", "xterm"}})};
  FakeScreen screen_{40, 8};
};

TEST_F(LinePrinterTest, RedrawsInPlaceWithoutScrolling) {
  LinePrinter printer(terminal_);
  printer.Draw({"first", "second", "third"});
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre("first", "second", "third"));
  EXPECT_FALSE(screen_.cursor_visible());
  for (int i = 0; i < 20; ++i) printer.Draw({"1", "2"});
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre("1", "2"));
  EXPECT_THAT(screen_.history(), IsEmpty());
  EXPECT_TRUE(screen_.wraps());
  EXPECT_EQ(screen_.row(), 0U);
  EXPECT_EQ(screen_.unknown(), 0);
}

TEST_F(LinePrinterTest, WorksAtTheFootOfTheScreen) {
  screen_.Feed("a\nb\nc\nd\ne\nf\ng\n");
  LinePrinter printer(terminal_);
  printer.Draw({"1", "2", "3"});
  printer.Draw({"4", "5", "6"});
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre("c", "d", "e", "f", "g", "4", "5", "6"));
  EXPECT_THAT(screen_.history(), ElementsAre("a", "b"));
}

TEST_F(LinePrinterTest, LogLinesGoAboveTheBlock) {
  LinePrinter printer(terminal_);
  printer.Draw({"a long first line of the block", "second"});
  EXPECT_TRUE(printer.PrintAbove("log 1"));
  EXPECT_TRUE(printer.PrintAbove("log 2\nlog 3"));
  Pump();
  EXPECT_THAT(screen_.Lines(),
              ElementsAre("log 1", "log 2", "log 3", "a long first line of the block", "second"));
}

TEST_F(LinePrinterTest, ALogLineLongerThanTheScreenIsWideWraps) {
  LinePrinter printer(terminal_);
  printer.Draw({"block 1", "block 2"});
  printer.PrintAbove(std::string(50, 'x'));
  Pump();
  EXPECT_THAT(screen_.Lines(),
              ElementsAre(std::string(40, 'x'), std::string(10, 'x'), "block 1", "block 2"));
}

TEST_F(LinePrinterTest, ALogLineAsWideAsTheScreenKeepsItsLastCharacter) {
  LinePrinter printer(terminal_);
  printer.Draw({"block"});
  printer.PrintAbove(std::string(39, 'x') + "y");
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre(std::string(39, 'x') + "y", "block"));
}

TEST_F(LinePrinterTest, ClosingKeepsTheLastFrameAndShowsTheCursorBelow) {
  LinePrinter printer(terminal_);
  printer.Draw({"one", "two"});
  printer.Close(/*keep=*/true);
  printer.PrintAbove("after");
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre("one", "two", "after"));
  EXPECT_TRUE(screen_.cursor_visible());
}

TEST_F(LinePrinterTest, ClosingCanEraseTheBlock) {
  screen_.Feed("$ command\n");
  LinePrinter printer(terminal_);
  printer.Draw({"one", "two"});
  printer.Close(/*keep=*/false);
  Pump();
  EXPECT_THAT(screen_.Lines(), ElementsAre("$ command"));
  EXPECT_EQ(screen_.row(), 1U);
  EXPECT_TRUE(screen_.cursor_visible());
}

TEST_F(LinePrinterTest, DestroyingItShowsTheCursor) {
  { LinePrinter(terminal_).Draw({"one"}); }
  Pump();
  EXPECT_TRUE(screen_.cursor_visible());
}

}  // namespace
}  // namespace fetchbench::coordinator
