#include "agent/container/image_key.h"

#include <gtest/gtest.h>

#include <string>

namespace fetchbench::agent {
namespace {

v1::TargetSpec Target(const std::string& name) {
  v1::TargetSpec target;
  target.set_name(name);
  target.set_context_sha256(std::string(64, 'a'));
  return target;
}

TEST(ImageKeyTest, NamesTheFolderAndWhatItWasMadeOf) {
  const auto key = KeyOf(Target("node/undici"));
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->repository, "fetchbench/node-undici");
  EXPECT_EQ(key->tag, key->digest.substr(0, 16));
  EXPECT_EQ(key->digest.size(), 64);
}

TEST(ImageKeyTest, ArgumentsChangeItAndTheirOrderDoesNot) {
  v1::TargetSpec one = Target("a");
  v1::TargetSpec two = Target("a");
  (*one.mutable_build_args())["X"] = "1";
  (*one.mutable_build_args())["Y"] = "2";
  (*two.mutable_build_args())["Y"] = "2";
  (*two.mutable_build_args())["X"] = "1";
  EXPECT_EQ(KeyOf(one)->digest, KeyOf(two)->digest);
  EXPECT_NE(KeyOf(one)->digest, KeyOf(Target("a"))->digest);
  // What is where must not be mistaken.
  v1::TargetSpec three = Target("a");
  (*three.mutable_build_args())["X"] = "1\n1:Y=1:2";
  EXPECT_NE(KeyOf(one)->digest, KeyOf(three)->digest);
}

TEST(ImageKeyTest, WhatCannotBeIsRefused) {
  for (const char* name : {"", "/", "A", "a//b", "../a", "a/", "a b", "a:b", "a@b", "-a"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(KeyOf(Target(name)).status())) << name;
  }
  v1::TargetSpec digest = Target("a");
  digest.set_context_sha256("AA");
  EXPECT_FALSE(KeyOf(digest).ok());
  v1::TargetSpec argument = Target("a");
  (*argument.mutable_build_args())["A=B"] = "";
  EXPECT_FALSE(KeyOf(argument).ok());
}

}  // namespace
}  // namespace fetchbench::agent
