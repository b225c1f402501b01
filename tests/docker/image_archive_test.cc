#include "common/docker/image_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/docker/tar_writer.h"

namespace fetchbench::docker {
namespace {

using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

std::string Archive(const Files& files) {
  std::string bytes;
  TarWriter tar([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  for (const auto& [name, text] : files) EXPECT_TRUE(tar.AddFile(name, text, false).ok());
  EXPECT_TRUE(tar.Finish().ok());
  return bytes;
}

absl::Status Check(std::string_view bytes, size_t piece) {
  ImageArchiveCheck check;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    if (absl::Status s = check.Feed(part); !s.ok()) return s;
    bytes.remove_prefix(part.size());
  }
  return check.End();
}
absl::Status Check(const Files& files) { return Check(Archive(files), 1 << 20); }

constexpr const char* kGood = R"([{"Config":"c.json","RepoTags":null,"Layers":["l/layer.tar"]}])";

TEST(ImageArchiveTest, TakesOneImageWithoutANameInAnyPieces) {
  const std::string bytes = Archive({{"c.json", "{}"},
                                     {"index.json", R"({"manifests":[{"digest":"sha256:1"}]})"},
                                     {"l/layer.tar", std::string(5'000, 'x')},
                                     {"manifest.json", kGood},
                                     {"repositories", "{}"}});
  for (const size_t piece : {1, 7, 511, 512, 513, 100'000}) {
    EXPECT_TRUE(Check(bytes, piece).ok()) << piece << " " << Check(bytes, piece);
  }
}

TEST(ImageArchiveTest, NamesAreRefusedHoweverTheyAreWritten) {
  const auto refused = [](const Files& files) {
    return absl::IsInvalidArgument(Check(files)) &&
           std::string(Check(files).message()).find("name") != std::string::npos;
  };
  EXPECT_TRUE(refused({{"manifest.json", R"([{"Config":"c","RepoTags":["debian:12"]}])"}}));
  EXPECT_TRUE(refused({{"manifest.json", kGood}, {"repositories", R"({"debian":{"12":"c"}})"}}));
  EXPECT_TRUE(refused({{"manifest.json", kGood}, {"index.json", R"({"manifests":[{"annotations":
                         {"io.containerd.image.name":"docker.io/library/debian:12"}}]})"}}));
  EXPECT_TRUE(refused({{"manifest.json", kGood},
                       {"index.json", R"({"manifests":[{"annotations":{"\u0069o.x":"y"}}]})"}}));
  // The Engine takes members whatever their case.
  EXPECT_FALSE(Check({{"manifest.json", R"([{"Config":"c","repotags":["debian:12"]}])"}}).ok());
}

TEST(ImageArchiveTest, AnythingButOneImageIsRefused) {
  EXPECT_FALSE(Check(Files{}).ok());
  EXPECT_FALSE(Check({{"manifest.json", "[]"}}).ok());
  EXPECT_FALSE(Check({{"manifest.json", "{}"}}).ok());
  EXPECT_FALSE(Check({{"manifest.json", "no JSON"}}).ok());
  EXPECT_FALSE(Check({{"manifest.json", R"([{"Config":"c"},{"Config":"d"}])"}}).ok());
  EXPECT_THAT(std::string(Check({{"manifest.json", std::string(2 << 20, ' ')}}).message()),
              HasSubstr("too large"));
  EXPECT_FALSE(Check(Archive({{"manifest.json", kGood}}).substr(0, 700), 512).ok());
}

}  // namespace
}  // namespace fetchbench::docker
