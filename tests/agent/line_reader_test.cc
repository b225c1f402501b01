#include "agent/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fetchbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Feed(LineReader& reader, std::string_view bytes) {
  std::vector<std::string> lines;
  reader.Feed(bytes, [&lines](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

TEST(LineReaderTest, CutsLinesAndKeepsTheRest) {
  LineReader reader;
  EXPECT_THAT(Feed(reader, "a\nb\nc"), ElementsAre("a", "b"));
  EXPECT_EQ(reader.half_line(), "c");
  EXPECT_THAT(Feed(reader, "d\n\n"), ElementsAre("cd", ""));
  EXPECT_EQ(reader.half_line(), "");
}

TEST(LineReaderTest, AnyCutOfTheBytesGivesTheSameLines) {
  const std::string text = "first\nsecond\r\n\nlast one\n";
  for (size_t step = 1; step <= text.size(); ++step) {
    LineReader reader;
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at += step) {
      for (auto& line : Feed(reader, std::string_view(text).substr(at, step)))
        lines.push_back(line);
    }
    EXPECT_THAT(lines, ElementsAre("first", "second", "", "last one")) << "step " << step;
  }
}

TEST(LineReaderTest, LineBeyondTheBoundIsDroppedAndCountedOnce) {
  LineReader reader(10);
  EXPECT_THAT(Feed(reader, "0123456789\n"), ElementsAre("0123456789"));
  EXPECT_THAT(Feed(reader, "0123456789a\nok\n"), ElementsAre("ok"));
  EXPECT_EQ(reader.oversize_lines(), 1);
  for (int i = 0; i < 1000; ++i) EXPECT_THAT(Feed(reader, "0123456789"), IsEmpty());
  EXPECT_EQ(reader.half_line(), "") << "nothing is held of a line that is dropped";
  EXPECT_THAT(Feed(reader, "tail\nnext\n"), ElementsAre("next"));
  EXPECT_EQ(reader.oversize_lines(), 2);
}

TEST(LineReaderTest, NulBytesAreBytes) {
  LineReader reader;
  EXPECT_THAT(Feed(reader, std::string_view("a\0b\n", 4)), ElementsAre(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace fetchbench::agent
