#include "coordinator/targets/target_registry.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "coordinator/targets/target_json.h"
#include "coordinator/targets/targets_table.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kGo = R"({"name": "go/net-http", "kind": "fetch", "language": "Go",
  "method": "net/http", "aliases": ["go"], "concurrency": 125, "deviations": [
    {"behaviours": ["redirect-*"], "observed": ["redirect_limit", "301", "late"],
     "why": "it counts", "reference": "golang/go#1", "sometimes": true, "libc": "glibc"}]})";

std::string Minimal(const std::string& name, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "kind": "fetch", "language": "L", "method": "M")" + more +
         "}";
}

std::vector<std::string> ProblemsOf(const std::string& text) {
  return ParseTarget(text, "a/b").problems;
}

TEST(ParseTargetTest, ReadsAllThatTheContractNames) {
  const ParsedTarget parsed = ParseTarget(kGo, "go/net-http");
  ASSERT_THAT(parsed.problems, IsEmpty());
  const TargetInfo& target = parsed.target;
  EXPECT_EQ(target.name, "go/net-http");
  EXPECT_EQ(target.language, "Go");
  EXPECT_EQ(target.method, "net/http");
  EXPECT_EQ(target.concurrency, 125u);
  EXPECT_THAT(target.aliases, ElementsAre("go"));
  ASSERT_THAT(target.deviations, SizeIs(1));
  EXPECT_THAT(target.deviations[0].observed, ElementsAre("redirect_limit", "301", "late"));
  EXPECT_TRUE(target.deviations[0].sometimes);
  EXPECT_EQ(target.deviations[0].libc, "glibc");
}

TEST(ParseTargetTest, ConcurrencyAliasesAndDeviationsMayBeLeftOut) {
  const ParsedTarget parsed = ParseTarget(Minimal("a/b"), "a/b");
  EXPECT_THAT(parsed.problems, IsEmpty());
  EXPECT_EQ(parsed.target.concurrency, 10u);
}

TEST(ParseTargetTest, LocatesEveryFault) {
  EXPECT_THAT(ProblemsOf("{}"), AllOf(Contains("name: is missing"), Contains("kind: is missing"),
                                      Contains("language: is missing")));
  EXPECT_THAT(ProblemsOf(Minimal("a/c")), ElementsAre("name: is 'a/c', but the folder is 'a/b'"));
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "concurency": 5)")),
              ElementsAre(HasSubstr("did you mean concurrency?")));
  for (const char* number : {"0", "1.5", "\"5\"", "100001", "-3"}) {
    EXPECT_THAT(ProblemsOf(Minimal("a/b", std::string(R"(, "concurrency": )") + number)),
                ElementsAre(StartsWith("concurrency: ")))
        << number;
  }
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "aliases": ["x", 5])")),
              ElementsAre(StartsWith("aliases[1]: ")));
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "aliases": ["A/B"])")),
              ElementsAre(HasSubstr("lower-case")));
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "aliases": ["x", "x"])")),
              ElementsAre(HasSubstr("twice")));
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "deviations": [{}])")),
              Contains("deviations[0].reference: is missing"));
  EXPECT_THAT(
      ProblemsOf(Minimal("a/b", R"(, "deviations": [{"behaviours": ["a*b"], "observed": ["huh"],
                                     "why": "w", "reference": "r"}])")),
      ElementsAre(HasSubstr("deviations[0].behaviours: 'a*b'"),
                  HasSubstr("deviations[0].observed: 'huh'")));
  EXPECT_THAT(ProblemsOf(Minimal("a/b", R"(, "stage": ["../sh"])")),
              ElementsAre(StartsWith("stage: ")));
}

TEST(ParseTargetTest, LocatesWhatIsNoJson) {
  EXPECT_THAT(ProblemsOf(""), ElementsAre(StartsWith("line 1: ")));
  EXPECT_THAT(ProblemsOf("{\n\n \"name\" }"), ElementsAre(StartsWith("line 3: ")));
  EXPECT_THAT(ProblemsOf("[]"), ElementsAre(HasSubstr("object")));
  EXPECT_THAT(ProblemsOf(Minimal("a/b") + "\nx"), ElementsAre(HasSubstr("line 2")));
}

TEST(TargetRegistryTest, FindsByNameAndByAlias) {
  const TargetRegistry registry = BuildRegistry({{"p", "go/net-http", "/lib/go/net-http", kGo}});
  ASSERT_NE(registry.Find("go"), nullptr);
  EXPECT_EQ(registry.Find("go"), registry.Find("go/net-http"));
  EXPECT_EQ(registry.Find("go")->folder, "/lib/go/net-http");
  EXPECT_TRUE(registry.Find("go")->is_container());
  EXPECT_FALSE(registry.Find("native")->is_container());
  EXPECT_EQ(registry.Find("g"), nullptr);
  EXPECT_THAT(registry.Names(), ElementsAre("native", "go/net-http"));
  EXPECT_THAT(registry.Words(), ElementsAre("native", "go/net-http", "go"));
}

TEST(TargetRegistryTest, ABadFileHidesNoOther) {
  const TargetRegistry registry =
      BuildRegistry({{"lib/a/b/target.json", "a/b", "", "{"}, {"p", "go/net-http", "", kGo}});
  EXPECT_NE(registry.Find("go"), nullptr);
  EXPECT_EQ(registry.Find("a/b"), nullptr);
  EXPECT_THAT(registry.problems(), ElementsAre(StartsWith("lib/a/b/target.json: line 1: ")));
}

TEST(TargetRegistryTest, AnAliasBelongsToOne) {
  const TargetRegistry registry =
      BuildRegistry({{"1", "a/b", "x", Minimal("a/b", R"(, "aliases": ["z", "native"])")},
                     {"2", "c/d", "y", Minimal("c/d", R"(, "aliases": ["z", "d"])")}});
  EXPECT_EQ(registry.Find("z")->name, "a/b");
  EXPECT_EQ(registry.Find("d")->name, "c/d");
  EXPECT_EQ(registry.Find("native")->folder, "");
  EXPECT_THAT(registry.problems(), ElementsAre("1: aliases: 'native' belongs to native already",
                                               "2: aliases: 'z' belongs to a/b already"));
}

TEST(TargetRegistryTest, ScansTwoLevelsOfFolders) {
  const test::TempFolder folder;
  for (const char* name : {"go/net-http", "go/empty", ".git/x", "a/b"}) {
    std::filesystem::create_directories(folder.File("lib/" + std::string(name)));
  }
  folder.Write("lib/go/net-http/target.json", kGo);
  folder.Write("lib/a/b/target.json", "no");
  folder.Write("lib/CONTRACT.md", "");
  const TargetRegistry registry = ScanTargets(folder.File("lib"));
  EXPECT_THAT(registry.Names(), ElementsAre("native", "go/net-http"));
  EXPECT_EQ(registry.Find("go")->folder, folder.File("lib/go/net-http"));
  EXPECT_THAT(registry.problems(), ElementsAre(HasSubstr("a/b/target.json: line 1")));
}

// A pipe would be waited for, and with it the whole command.
TEST(TargetRegistryTest, WhatIsNoFileIsAProblemAndHidesNoOther) {
  const test::TempFolder folder;
  for (const char* name : {"go/net-http", "a/pipe", "a/folder/target.json"}) {
    std::filesystem::create_directories(folder.File("lib/" + std::string(name)));
  }
  folder.Write("lib/go/net-http/target.json", kGo);
  ASSERT_EQ(mkfifo(folder.File("lib/a/pipe/target.json").c_str(), 0600), 0);
  const TargetRegistry registry = ScanTargets(folder.File("lib"));
  EXPECT_THAT(registry.Names(), ElementsAre("native", "go/net-http"));
  EXPECT_THAT(registry.problems(), ElementsAre(HasSubstr("a/folder/target.json is no file"),
                                               HasSubstr("a/pipe/target.json is no file")));
}

TEST(TargetRegistryTest, WithoutAFolderThereIsNative) {
  const TargetRegistry registry = ScanTargets("/nowhere/lib");
  EXPECT_THAT(registry.Names(), ElementsAre("native"));
  EXPECT_THAT(registry.problems(), ElementsAre(HasSubstr("/nowhere/lib")));
}

TEST(TargetsTextTest, ShowsNamesAndAliasesWhateverTheWidth) {
  const TargetRegistry registry = BuildRegistry({{"p", "go/net-http", "x", kGo}});
  for (const int width : {20, 100}) {
    TextStyle style;
    style.width = width;
    EXPECT_THAT(TargetsText(registry, style),
                AllOf(HasSubstr("native"), HasSubstr("go/net-http"), HasSubstr("125")));
  }
}

}  // namespace
}  // namespace fetchbench::coordinator
