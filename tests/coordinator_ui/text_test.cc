#include "coordinator/ui/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/utf8.h"
#include "coordinator/ui/human_numbers.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HarmlessTest, OrdinaryTextStaysAsItIs) {
  EXPECT_EQ(Harmless("https://a.test/x?y=1,2#z"), "https://a.test/x?y=1,2#z");
  EXPECT_EQ(Harmless("müller.de 日本"), "müller.de 日本");
  EXPECT_EQ(Harmless(""), "");
}

TEST(HarmlessTest, ControlCharactersAndEscapeSequencesAreSpelledOut) {
  EXPECT_EQ(Harmless("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(Harmless("a\r\n\tb\x7f"), "a\\x0d\\x0a\\x09b\\x7f");
  EXPECT_EQ(Harmless(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Harmless("\xC2\x9B"
                     "2J"),
            "\\u{9b}2J");  // the one-character CSI
}

TEST(HarmlessTest, WhatTurnsOrBreaksALineIsSpelledOut) {
  EXPECT_EQ(Harmless("a\u202Egpj.exe"), "a\\u{202e}gpj.exe");
  EXPECT_EQ(Harmless("a\u2028b\u2066c\u200F"), "a\\u{2028}b\\u{2066}c\\u{200f}");
}

TEST(HarmlessTest, BytesThatAreNotUtf8AreSpelledOut) {
  EXPECT_EQ(Harmless("a\xFF"), "a\\xff");
  EXPECT_EQ(Harmless("\xC0\xAF"), "\\xc0\\xaf");                    // overlong '/'
  EXPECT_EQ(Harmless("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(Harmless("\xE2\x82"), "\\xe2\\x82");                    // cut short
  EXPECT_EQ(Harmless("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");  // beyond Unicode
}

TEST(HarmlessTest, AsciiOnlyPlacesGetAsciiOnly) {
  EXPECT_EQ(Harmless("mü 日", /*ascii=*/true), "m\\u{fc} \\u{65e5}");
}

// Whatever the bytes, what comes out has no control character and is UTF-8.
TEST(HarmlessTest, EveryTwoByteTextIsHarmless) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      const std::string out = Harmless(text);
      for (const char c : out) {
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << a << " " << b;
      }
      ASSERT_EQ(ValidUtf8(out), out);
    }
  }
}

TEST(DisplayWidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("müller"), 6);
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);  // combining accent
  EXPECT_EQ(DisplayWidth("█▌░│"), 4);
  EXPECT_EQ(DisplayWidth("\x1b[31mred\x1b[0m"), 3);
}

TEST(CutToTest, ShortTextStaysAndLongTextGetsAnEllipsis) {
  EXPECT_EQ(CutTo("abcdef", 6, true), "abcdef");
  EXPECT_EQ(CutTo("abcdef", 5, true), "abcd…");
  EXPECT_EQ(CutTo("abcdef", 5, false), "ab...");
  EXPECT_EQ(CutTo("日本語", 5, true), "日本…");
  EXPECT_EQ(CutTo("日本語", 4, true), "日…");  // half a character is none
}

TEST(CutToTest, ColourIsSwitchedOffBehindTheCut) {
  EXPECT_EQ(CutTo("\x1b[31mabcdef\x1b[0m", 3, true), "\x1b[31mab…\x1b[0m");
}

TEST(CutToTest, NeverWiderThanAsked) {
  for (int columns = 0; columns < 12; ++columns) {
    for (const bool utf8 : {false, true}) {
      EXPECT_LE(DisplayWidth(CutTo("日本 abc \x1b[1mdef\x1b[0m ghi", columns, utf8)), columns);
    }
  }
}

TEST(PadTest, FillsUpByColumns) {
  EXPECT_EQ(PadRight("日", 4), "日  ");
  EXPECT_EQ(PadLeft("ab", 4), "  ab");
  EXPECT_EQ(PadLeft("abcde", 4), "abcde");
}

TEST(WrapWordsTest, BreaksAtSpacesAndInsideAWordOnlyWhenItMust) {
  EXPECT_THAT(WrapWords("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("abcdefghij k", 4), ElementsAre("abcd", "efgh", "ij k"));
  EXPECT_THAT(WrapWords("", 10), IsEmpty());
  EXPECT_THAT(WrapWords("日本語", 1), ElementsAre("日", "本", "語"));
}

TEST(HidePasswordTest, HidesOnlyThePassword) {
  EXPECT_EQ(HidePassword("https://user:secret@a.test/x"), "https://user:***@a.test/x");
  EXPECT_EQ(HidePassword("https://user:a:b@c@a.test"), "https://user:***@a.test");
  EXPECT_EQ(HidePassword("https://user@a.test/"), "https://user@a.test/");
  EXPECT_EQ(HidePassword("https://a.test:8080/p@th:x"), "https://a.test:8080/p@th:x");
  EXPECT_EQ(HidePassword("user:secret@a.test"), "user:***@a.test");
  EXPECT_EQ(HidePassword(""), "");
}

TEST(ShellWordTest, IsQuotedWhereAShellWouldReadMoreThanTheText) {
  EXPECT_EQ(ShellWord("a=10.0.0.1:7311,unix:/run/b"), "a=10.0.0.1:7311,unix:/run/b");
  EXPECT_EQ(ShellWord("[::1]:7311"), "'[::1]:7311'");
  EXPECT_EQ(ShellWord("it's; rm -r *"), "'it'\\''s; rm -r *'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(HumanNumbersTest, HaveThreeDigitsOrSo) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(10'000'000), "10,000,000");
  EXPECT_EQ(HumanNumber(0), "0");
  EXPECT_EQ(HumanNumber(0.4217), "0.42");
  EXPECT_EQ(HumanNumber(9.996), "10.0");
  EXPECT_EQ(HumanNumber(99.96), "100");
  EXPECT_EQ(HumanNumber(999.7), "1,000");
  EXPECT_EQ(HumanNumber(1e30), "1.00e+30");
  EXPECT_EQ(HumanNumber(-1), "-");
}

TEST(HumanNumbersTest, DurationsChangeUnitWhereTheyShould) {
  EXPECT_EQ(HumanDuration(830), "830 us");
  EXPECT_EQ(HumanDuration(999.6), "1.00 ms");
  EXPECT_EQ(HumanDuration(680'214), "680 ms");
  EXPECT_EQ(HumanDuration(5'018'204), "5.02 s");
  EXPECT_EQ(HumanDuration(99'990'000), "1 m 40 s");
  EXPECT_EQ(HumanDuration(7'500e6), "2 h 05 m");
  EXPECT_EQ(HumanSeconds(3.2), "4 s");
  EXPECT_EQ(HumanSeconds(99.5), "1 m 40 s");
}

TEST(HumanNumbersTest, BytesAndShares) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999'600), "1.00 MB");
  EXPECT_EQ(HumanBytes(2'560'000'000), "2.56 GB");
  EXPECT_EQ(HumanPercent(0.798), "79.8 %");
  EXPECT_EQ(HumanPercent(0.0001), "<0.1 %");
  EXPECT_EQ(HumanPercent(0.9999), ">99.9 %");
  EXPECT_EQ(HumanPercent(1), "100.0 %");
  EXPECT_EQ(HumanPercent(0), "0.0 %");
}

}  // namespace
}  // namespace fetchbench::coordinator
