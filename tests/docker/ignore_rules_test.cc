#include "common/docker/ignore_rules.h"

#include <gtest/gtest.h>

namespace fetchbench::docker {
namespace {

TEST(IgnoreRulesTest, StarsStayWithinAFolderAndDoubleStarsDoNot) {
  EXPECT_TRUE(MatchesPattern("*.md", "README.md"));
  EXPECT_FALSE(MatchesPattern("*.md", "doc/README.md"));
  EXPECT_TRUE(MatchesPattern("**/*.md", "doc/deep/README.md"));
  EXPECT_TRUE(MatchesPattern("**/*.md", "README.md"));
  EXPECT_FALSE(MatchesPattern("**/b.md", "ab.md"));
  EXPECT_TRUE(MatchesPattern("a/**", "a/b/c"));
  EXPECT_FALSE(MatchesPattern("a/**", "b/a"));
  EXPECT_TRUE(MatchesPattern("a/**/z", "a/b/c/z"));
  EXPECT_TRUE(MatchesPattern("a?c", "abc"));
  EXPECT_FALSE(MatchesPattern("a?c", "a/c"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(MatchesPattern("", "a"));
}

TEST(IgnoreRulesTest, TheLastFittingLineDecides) {
  const IgnoreRules rules =
      IgnoreRules::Parse("# remark\n\n/target/\nnode_modules\n*.log\n!keep.log\r\n  ./build  \n");
  EXPECT_TRUE(rules.Ignores("target"));
  EXPECT_TRUE(rules.Ignores("target/debug/x"));
  EXPECT_FALSE(rules.Ignores("src/target"));
  EXPECT_TRUE(rules.Ignores("node_modules/a/b.js"));
  EXPECT_TRUE(rules.Ignores("x.log"));
  EXPECT_FALSE(rules.Ignores("keep.log"));
  EXPECT_TRUE(rules.Ignores("build/y"));
  EXPECT_FALSE(rules.Ignores("Dockerfile"));
}

TEST(IgnoreRulesTest, EverythingButSomeCanBeIgnored) {
  const IgnoreRules rules = IgnoreRules::Parse("*\n!src\n");
  EXPECT_TRUE(rules.has_exceptions());
  EXPECT_TRUE(rules.Ignores("notes.txt"));
  EXPECT_TRUE(rules.Ignores("doc/a"));
  EXPECT_FALSE(rules.Ignores("src/main.c"));
}

}  // namespace
}  // namespace fetchbench::docker
