#include "common/utf8.h"

#include <gtest/gtest.h>

namespace fetchbench {
namespace {

TEST(ValidUtf8Test, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(ValidUtf8("plain"), "plain");
  EXPECT_EQ(ValidUtf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(ValidUtf8("a\xff\xfe"
                      "b"),
            "a??b");
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), "???") << "surrogate";
  EXPECT_EQ(ValidUtf8("\xe2\x82"), "??") << "cut short";
  EXPECT_EQ(ValidUtf8("\xf5\x80\x80\x80"), "????") << "beyond Unicode";
}

TEST(ValidUtf8Test, PutsWhatItIsToldInTheirPlace) {
  EXPECT_EQ(ValidUtf8("\u00fc\xFFz\n", kReplacementCharacter), "\u00fc\uFFFDz\n");
  EXPECT_EQ(ValidUtf8(kReplacementCharacter), kReplacementCharacter);
  EXPECT_EQ(ValidUtf8("a\xff\xff", ""), "a");
}

}  // namespace
}  // namespace fetchbench
