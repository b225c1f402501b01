#include "common/docker/context_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/docker/context_tar.h"
#include "common/docker/tar_writer.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::docker {
namespace {

std::string Tar(const std::function<void(TarWriter&)>& fill) {
  std::string bytes;
  TarWriter tar([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  fill(tar);
  EXPECT_TRUE(tar.Finish().ok());
  return bytes;
}

absl::Status Check(std::string_view bytes, size_t piece = std::string_view::npos) {
  ContextCheck check;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    if (absl::Status s = check.Feed(part); !s.ok()) return s;
    bytes.remove_prefix(part.size());
  }
  return check.End();
}

// One entry with any type, name and link, its head's sum right.
std::string Raw(char type, std::string name, std::string link = "", std::string content = "") {
  std::string head(512, '\0');
  name.resize(std::min<size_t>(name.size(), 100));
  link.resize(std::min<size_t>(link.size(), 100));
  head.replace(0, name.size(), name);
  head.replace(100, 8, std::string("0000644\0", 8));
  head.replace(108, 8, std::string("0000000\0", 8));
  head.replace(116, 8, std::string("0000000\0", 8));
  head.replace(124, 12, fmt::format("{:011o}", content.size()) + std::string(1, '\0'));
  head.replace(136, 12, std::string("00000000000\0", 12));
  head.replace(148, 8, "        ");
  head[156] = type;
  head.replace(157, link.size(), link);
  head.replace(257, 8, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  head.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  content.resize((content.size() + 511) / 512 * 512, '\0');
  return head + content;
}

const std::string kEnd(1024, '\0');

std::string Pax(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return Raw('x', "pax", "", fmt::format("{} {}={}\n", length, key, value));
}

TEST(ContextCheckTest, TakesWhatIsPackedHereInAnyPieces) {
  const test::TempFolder folder;
  folder.Write("Dockerfile", "FROM scratch\n");
  std::filesystem::create_directories(folder.File("deep/" + std::string(150, 'd')));
  folder.Write("deep/" + std::string(150, 'd') + "/file", std::string(1000, 'x'));
  std::filesystem::create_symlink("../Dockerfile", folder.File("deep/link"));
  std::filesystem::create_symlink("deep", folder.File("way"));
  const auto packed = PackContext(folder.path());
  ASSERT_TRUE(packed.ok()) << packed.status();
  for (const size_t piece : {1, 100, 512, 1000, 1 << 20}) {
    EXPECT_TRUE(Check(packed->bytes, piece).ok()) << Check(packed->bytes, piece);
  }
}

TEST(ContextCheckTest, PathsThatLeadElsewhereAreRefused) {
  for (const char* path :
       {"/etc/passwd", "../up", "a/../../up", "a/..", "..", ".", "./a", "a//b", "a/", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Check(Raw('0', path) + kEnd))) << path;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Check(Pax("path", "../up") + Raw('0', "good") + kEnd)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Check(Pax("path", "/" + std::string(200, 'a')) + Raw('0', "x") + kEnd)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Check(Pax("path", std::string(kMaxContextPathBytes + 1, 'a')) + Raw('0', "x") + kEnd)));
}

TEST(ContextCheckTest, LinksThatLeadOutOrMayDoSoAreRefused) {
  for (const char* to : {"/etc/passwd", "..", "../x", "a/../../x", "a/../x", "", "x//y", "."}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Check(Raw('2', "link", to) + kEnd))) << to;
  }
  EXPECT_TRUE(Check(Raw('2', "d/link", "../x") + kEnd).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Check(Raw('2', "d/link", "../../x") + kEnd)));
  EXPECT_TRUE(absl::IsInvalidArgument(Check(Pax("linkpath", "/x") + Raw('2', "link", "x") + kEnd)));
  // Through a link, or by putting one where a folder was.
  const std::string link = Raw('2', "d", "e");
  EXPECT_TRUE(absl::IsInvalidArgument(Check(link + Raw('0', "d/file") + kEnd)));
  EXPECT_TRUE(absl::IsInvalidArgument(Check(Raw('0', "d/file") + link + kEnd)));
  EXPECT_TRUE(absl::IsInvalidArgument(Check(link + Raw('0', "d") + kEnd)));
}

TEST(ContextCheckTest, OtherThingsThanFilesFoldersAndLinksAreRefused) {
  // Hard link, devices, pipe, contiguous file, global pax, GNU long names, sparse, old file.
  for (const char type : std::string("1346"
                                     "7gLKS") +
                             std::string(1, '\0')) {
    const absl::Status status = Check(Raw(type, "thing") + kEnd);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << static_cast<int>(type);
  }
  for (const char* key : {"size", "GNU.sparse.name", "mtime", "SCHILY.xattr.security.capability"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Check(Pax(key, "1") + Raw('0', "f") + kEnd))) << key;
  }
}

TEST(ContextCheckTest, DamagedAndCutArchivesAreRefused) {
  const std::string good = Raw('0', "file", "", "content") + kEnd;
  EXPECT_TRUE(Check(good).ok());
  for (size_t cut = 0; cut < good.size(); cut += 100) {
    EXPECT_FALSE(Check(std::string_view(good).substr(0, cut)).ok()) << cut;
  }
  std::string damaged = good;
  damaged[3] = 'x';
  EXPECT_FALSE(Check(damaged).ok());
  EXPECT_FALSE(Check(good + good).ok());
  std::string binary = Raw('0', "file");
  binary[124] = '\x80';  // a size of another format
  EXPECT_FALSE(Check(binary + kEnd).ok());
  EXPECT_FALSE(Check(Raw('5', "folder", "", "content") + kEnd).ok());
  EXPECT_FALSE(Check(Pax("path", "a") + Pax("path", "b") + Raw('0', "f") + kEnd).ok());
}

TEST(ContextCheckTest, EntriesAreCounted) {
  const std::string many = Tar([](TarWriter& tar) {
    for (size_t i = 0; i <= kMaxContextEntries; ++i) {
      ASSERT_TRUE(tar.AddFile(fmt::format("f{}", i), "", false).ok());
    }
  });
  EXPECT_TRUE(absl::IsResourceExhausted(Check(many)));
  // Folders that are only implied count too.
  std::string deep;
  for (int i = 0; i < 50; ++i) {
    std::string path = fmt::format("{}", i);
    for (int j = 0; j < 1000; ++j) path += "/a";
    deep += Pax("path", path) + Raw('0', "f");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Check(deep + kEnd)));
}

// Each entry used to cost as much as its path is deep, each time: minutes for an archive of 64 MiB.
TEST(ContextCheckTest, OneDeepFolderMayBeNamedManyTimes) {
  std::string path = "a";
  while (path.size() + 2 <= kMaxContextPathBytes) path += "/a";
  const std::string folder = Pax("path", path) + Raw('5', "f");
  ContextCheck check;
  for (size_t i = 0; i < kMaxContextEntries; ++i) {
    const absl::Status status = check.Feed(folder);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
}

TEST(ContextCheckTest, NothingIsBelowAFileHoweverDeep) {
  for (const char type : {'0', '2'}) {
    const std::string no_folder = Raw(type, "a/b", "c");
    EXPECT_TRUE(absl::IsInvalidArgument(Check(absl::StrCat(no_folder, Raw('0', "a/b/c"), kEnd))));
    EXPECT_TRUE(
        absl::IsInvalidArgument(Check(absl::StrCat(no_folder, Raw('0', "a/b/c/d/e"), kEnd))));
    EXPECT_TRUE(absl::IsInvalidArgument(Check(absl::StrCat(no_folder, Raw('5', "a/b/c/d"), kEnd))));
    EXPECT_TRUE(absl::IsInvalidArgument(Check(absl::StrCat(Raw('0', "a/b/c/d"), no_folder, kEnd))));
    EXPECT_TRUE(Check(absl::StrCat(no_folder, Raw('0', "a/c/d"), kEnd)).ok());
  }
}

}  // namespace
}  // namespace fetchbench::docker
