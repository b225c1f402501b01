#include "coordinator/input/url_spool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <string>

#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string HostOf(uint64_t i) { return "h" + std::to_string(i % 5000) + ".example"; }
std::string UrlOf(uint64_t i) { return "https://" + HostOf(i) + "/" + std::to_string(i); }

std::map<uint64_t, std::string> Drain(UrlSpool& spool) {
  std::map<uint64_t, std::string> urls;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    while (true) {
      const auto chunk = spool.Take(p);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || *chunk == nullptr) break;
      EXPECT_LE((*chunk)->size(), kChunkUrls);
      for (size_t i = 0; i < (*chunk)->size(); ++i) {
        const bool added = urls.emplace((*chunk)->indices[i], std::string((*chunk)->Url(i))).second;
        EXPECT_TRUE(added);
      }
    }
  }
  return urls;
}

uint64_t Sum(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

TEST(UrlSpoolTest, GivesBackEveryUrlOnce) {
  const TempFolder folder;
  auto spool = UrlSpool::Create(folder.File("spool"));
  ASSERT_TRUE(spool.ok()) << spool.status();
  constexpr uint64_t kUrls = 50'000;
  for (uint64_t i = 0; i < kUrls; ++i) ASSERT_TRUE((*spool)->Add(i, UrlOf(i), HostOf(i)).ok());
  ASSERT_TRUE((*spool)->Finish().ok());
  EXPECT_EQ(Sum((*spool)->remaining()), kUrls);
  const auto urls = Drain(**spool);
  EXPECT_EQ(Sum((*spool)->remaining()), 0u);
  ASSERT_EQ(urls.size(), kUrls);
  for (const auto& [index, url] : urls) EXPECT_EQ(url, UrlOf(index));
}

TEST(UrlSpoolTest, KeepsAHostInOnePartition) {
  const TempFolder folder;
  auto spool = UrlSpool::Create(folder.File("spool"));
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE((*spool)->Add(i, "https://one.example/" + std::to_string(i), "one.example").ok());
  }
  ASSERT_TRUE((*spool)->Finish().ok());
  EXPECT_EQ((*spool)->remaining()[PartitionOf("one.example")], 1000u);
}

TEST(UrlSpoolTest, CanBeOpenedAgain) {
  const TempFolder folder;
  {
    auto spool = UrlSpool::Create(folder.File("spool"));
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE((*spool)->Add(i, UrlOf(i), HostOf(i)).ok());
    ASSERT_TRUE((*spool)->Finish().ok());
  }
  auto again = UrlSpool::Open(folder.File("spool"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Drain(**again).size(), 3000u);
}

TEST(UrlSpoolTest, RefusesAFileThatWasCutOff) {
  const TempFolder folder;
  {
    auto spool = UrlSpool::Create(folder.File("spool"));
    ASSERT_TRUE((*spool)->Add(0, "https://a.example", "a.example").ok());
    ASSERT_TRUE((*spool)->Finish().ok());
  }
  std::filesystem::resize_file(folder.File("spool"),
                               std::filesystem::file_size(folder.File("spool")) - 1);
  EXPECT_TRUE(absl::IsDataLoss(UrlSpool::Open(folder.File("spool")).status()));
}

TEST(UrlSpoolTest, RefusesAFileThatIsNoSpool) {
  const TempFolder folder;
  EXPECT_FALSE(UrlSpool::Open(folder.File("missing")).ok());
  folder.Write("text", std::string(100, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(UrlSpool::Open(folder.File("text")).status()));
}

// The first thing that is wrong with a file, read in all the ways there are.
absl::Status Check(const std::string& path, uint64_t urls) {
  auto spool = UrlSpool::Open(path);
  if (!spool.ok()) return spool.status();
  EXPECT_EQ(Sum((*spool)->remaining()), urls) << "what a sound header says";
  const absl::Status visited = (*spool)->VisitAll([](uint32_t, uint64_t, std::string_view) {});
  absl::Status taken;
  for (uint32_t p = 0; p < kPartitions && taken.ok(); ++p) {
    auto chunk = (*spool)->Take(p);
    while (chunk.ok() && *chunk != nullptr) chunk = (*spool)->Take(p);
    taken = chunk.status();
  }
  EXPECT_EQ(visited.code(), taken.code());
  return visited;
}

TEST(UrlSpoolTest, RefusesAFileWithOneBitFlippedAnywhere) {
  const TempFolder folder;
  const std::string path = folder.File("spool");
  {
    auto spool = UrlSpool::Create(path);
    for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE((*spool)->Add(i, UrlOf(i), "one.example").ok());
    ASSERT_TRUE((*spool)->Add(3, UrlOf(3), "another.example").ok());
    ASSERT_TRUE((*spool)->Finish().ok());
  }
  std::string text = folder.Read("spool");
  EXPECT_TRUE(Check(path, 4).ok());
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    const char whole = text[bit / 8];
    text[bit / 8] = static_cast<char>(whole ^ (1 << (bit % 8)));
    folder.Write("spool", text);
    const absl::Status status = Check(path, 4);
    EXPECT_TRUE(absl::IsDataLoss(status)) << "bit " << bit % 8 << " of byte " << bit / 8;
    EXPECT_THAT(std::string(status.message()), StartsWith(path));
    text[bit / 8] = whole;
  }
}

// Of a build of before the checksums, which has the same version as this one.
TEST(UrlSpoolTest, AFileOfTheEarlierFormIsNotCalledDamaged) {
  const TempFolder folder;
  folder.Write("spool", "fetchbench-spool1CHNK");
  const absl::Status status = UrlSpool::Open(folder.File("spool")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder.File("spool")), HasSubstr("form 1, this is form 2"),
                    HasSubstr("go on with the build that it was begun with")));
}

TEST(UrlSpoolTest, HoldsLongUrlsInBoundedChunks) {
  const TempFolder folder;
  auto spool = UrlSpool::Create(folder.File("spool"));
  const std::string tail(60'000, 'x');
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::string host = "h" + std::to_string(i) + ".example";
    ASSERT_TRUE((*spool)->Add(i, fmt::format("https://{}/{}", host, tail), host).ok());
  }
  ASSERT_TRUE((*spool)->Finish().ok());
  uint64_t urls = 0;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    while (true) {
      auto chunk = (*spool)->Take(p);
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (*chunk == nullptr) break;
      EXPECT_LE((*chunk)->Bytes(), 2 * kChunkBytes);
      urls += (*chunk)->size();
    }
  }
  EXPECT_EQ(urls, 2000u);
}

TEST(PartitionOfTest, IsStableAndSpreads) {
  EXPECT_EQ(PartitionOf("example.com"), PartitionOf("example.com"));
  std::map<uint32_t, int> counts;
  for (int i = 0; i < 409'600; ++i) ++counts[PartitionOf("h" + std::to_string(i) + ".com")];
  EXPECT_EQ(counts.size(), kPartitions);
  for (const auto& [partition, count] : counts) EXPECT_LT(count, 200) << partition;
}

}  // namespace
}  // namespace fetchbench::coordinator
