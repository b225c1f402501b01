#include "coordinator/host/shared_libraries.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "coordinator/web/origin_image.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

TEST(SharedLibrariesTest, ReadsTheLoadersList) {
  const auto paths = ParseLibraryList(
      "\tlinux-vdso.so.1 (0x00007ffe3b5f2000)\n"
      "\tlibssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f0a)\n"
      "\t/lib64/ld-linux-x86-64.so.2 => /usr/lib/ld.so (0x00007f0b)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f0c)\n");
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, ElementsAre("/lib/x86_64-linux-gnu/libssl.so.3", "/usr/lib/ld.so",
                                  "/lib64/ld-linux-x86-64.so.2"));
}

TEST(SharedLibrariesTest, NamesALibraryThatIsMissing) {
  const auto paths = ParseLibraryList("\tlibgone.so.1 => not found\n");
  EXPECT_TRUE(absl::IsNotFound(paths.status()));
  EXPECT_THAT(std::string(paths.status().message()), HasSubstr("libgone.so.1"));
}

TEST(SharedLibrariesTest, RefusesWhatIsNoProgram) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(64, '\0')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(LoaderOf(bytes).status()));
  }
}

TEST(SharedLibrariesTest, SaysOfAProgramThatIsNotThereThatItIsNot) {
  const test::TempFolder folder;
  const auto paths = SharedLibraries(folder.File("no-program"));
  EXPECT_TRUE(absl::IsNotFound(paths.status())) << paths.status();
  EXPECT_THAT(std::string(paths.status().message()), HasSubstr("no-program"));
}

TEST(SharedLibrariesTest, FindsThoseOfARealProgram) {
  const auto paths = SharedLibraries(ThisProgram());
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, Contains(HasSubstr("libc.so.6")));
  EXPECT_THAT(*paths, Contains(HasSubstr("ld-linux")));
  for (const std::string& path : *paths) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST(OriginRootTest, HoldsAllAndIsNamedByItsContent) {
  const test::TempFolder folder;
  folder.Write("one.json", "{}");
  const auto root = MakeOriginRoot(ThisProgram(), folder.File(""));
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_THAT(root->files, Contains(Key("fetchbench-origin")));
  EXPECT_THAT(root->files, Contains(Key("profiles/one.json")));
  EXPECT_THAT(root->files, Contains(Key(HasSubstr("libc.so.6"))));
  EXPECT_EQ(MakeOriginRoot(ThisProgram(), folder.File(""))->sha256, root->sha256);
  folder.Write("one.json", "{ }");
  EXPECT_NE(MakeOriginRoot(ThisProgram(), folder.File(""))->sha256, root->sha256);
}

TEST(OriginRootTest, NamesWhatIsMissing) {
  const test::TempFolder folder;
  const auto root = MakeOriginRoot(folder.File("no-origin"), folder.File(""));
  EXPECT_FALSE(root.ok());
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("no-origin"));
}

}  // namespace
}  // namespace fetchbench::coordinator
