#include "common/docker/tar_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/docker/sha256.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::docker {
namespace {

TarWriter Into(std::string& bytes) {
  return TarWriter([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
}

TEST(TarWriterTest, TarReadsItBack) {
  const std::string deep = std::string(60, 'd') + "/" + std::string(60, 'f');
  std::string bytes;
  TarWriter tar = Into(bytes);
  ASSERT_TRUE(tar.AddFolder("bin").ok());
  ASSERT_TRUE(tar.AddFile("bin/run", "#!/bin/sh\necho hello\n", true).ok());
  ASSERT_TRUE(tar.AddFile(deep, std::string(1'000, 'x'), false).ok());
  ASSERT_TRUE(tar.AddSymlink("link", "bin/run").ok());
  ASSERT_TRUE(tar.AddFile("empty", "", false).ok());
  ASSERT_TRUE(tar.Finish().ok());
  EXPECT_EQ(bytes.size() % 512, 0);
  const test::TempFolder folder;
  folder.Write("a.tar", bytes);
  const std::string command =
      "cd " + folder.path() + " && tar tvf a.tar >list 2>err && tar xf a.tar && ./link >said";
  ASSERT_EQ(std::system(command.c_str()), 0) << folder.Read("err");
  EXPECT_EQ(folder.Read("said"), "hello\n");
  EXPECT_EQ(folder.Read(deep), std::string(1'000, 'x'));
  EXPECT_EQ(folder.Read("err"), "");
  EXPECT_THAT(folder.Read("list"), ::testing::HasSubstr("-rwxr-xr-x 0/0"));
  EXPECT_THAT(folder.Read("list"), ::testing::HasSubstr("1970-01-01"));
}

TEST(TarWriterTest, AFileThatChangesItsSizeIsAnError) {
  std::string bytes;
  TarWriter tar = Into(bytes);
  ASSERT_TRUE(tar.BeginFile("x", 3, false).ok());
  EXPECT_FALSE(tar.AppendToFile("four").ok());
  ASSERT_TRUE(tar.AppendToFile("tw").ok());
  EXPECT_FALSE(tar.EndFile().ok());
}

TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  EXPECT_EQ(hash.HexDigest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace fetchbench::docker
