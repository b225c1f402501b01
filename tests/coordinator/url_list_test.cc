#include "coordinator/input/url_list.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kAll = ~uint64_t{0};

int FileOf(std::string_view text) {
  const int fd = memfd_create("list", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(fd, 0, SEEK_SET);
  return fd;
}

struct Read {
  ListCounts counts;
  std::vector<std::string> urls;
  std::vector<std::string> invalid;
  std::vector<uint64_t> invalid_lines;
};

Read ReadText(std::string_view text, uint64_t limit = kAll, Hosts hosts = Hosts::kAll) {
  const int fd = FileOf(text);
  const std::atomic<bool> stop{false};
  LineReader reader(fd, stop);
  Read result;
  const auto counts = ReadUrlList(reader, limit, hosts, [&](uint64_t, const ListLine& line) {
    if (line.kind == LineKind::kUrl) {
      result.urls.push_back(line.url);
    } else {
      result.invalid.push_back(line.url);
      result.invalid_lines.push_back(reader.line_number());
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(counts.ok());
  if (counts.ok()) result.counts = *counts;
  close(fd);
  return result;
}

TEST(UrlListTest, ReadsLinesWithEveryLineEnd) {
  EXPECT_THAT(ReadText("a.example\nb.example\r\n\n# c\nd.example").urls,
              ElementsAre("https://a.example", "https://b.example", "https://d.example"));
}

TEST(UrlListTest, WhereOnlyNamesAreWantedAddressesAreInvalidLines) {
  const std::string_view text = "a.example\nhttp://192.0.2.1/x\nb.example\nhttp://[::1]/\n";
  const Read names = ReadText(text, kAll, Hosts::kNames);
  EXPECT_THAT(names.urls, ElementsAre("https://a.example", "https://b.example"));
  EXPECT_THAT(names.invalid, ElementsAre("http://192.0.2.1/x", "http://[::1]/"));
  EXPECT_EQ(names.counts.invalid, 2u);
  EXPECT_EQ(ReadText(text).counts.invalid, 0u);
}

TEST(UrlListTest, SkipsAByteOrderMark) {
  EXPECT_THAT(ReadText("\xef\xbb\xbfhttps://a.example\n").urls, ElementsAre("https://a.example"));
}

TEST(UrlListTest, AnEmptyListHasNoEntries) {
  EXPECT_EQ(ReadText("").counts.urls, 0u);
  EXPECT_EQ(ReadText("\n\n").counts.urls, 0u);
}

TEST(UrlListTest, DuplicatesAreEntriesOfTheirOwn) {
  EXPECT_THAT(ReadText("a.example\na.example\n").urls, SizeIs(2));
}

TEST(UrlListTest, LocatesLinesThatAreNoUrlAndGoesOn) {
  const Read read = ReadText("# list\na.example\nhttps://\nb.example\n");
  EXPECT_THAT(read.urls, SizeIs(2));
  EXPECT_THAT(read.invalid_lines, ElementsAre(3u));
  EXPECT_EQ(read.counts.urls, 3u);
  EXPECT_EQ(read.counts.invalid, 1u);
}

TEST(UrlListTest, LimitCountsEntriesNotLines) {
  EXPECT_THAT(ReadText("# c\na.example\n\nb.example\nc.example\n", 2).urls,
              ElementsAre("https://a.example", "https://b.example"));
  EXPECT_THAT(ReadText("a.example\n", 0).urls, SizeIs(0));
}

TEST(UrlListTest, AMegabyteLineIsOneInvalidEntryAndTheNextLineIsWhole) {
  const std::string text = "https://a.example/" + std::string(1 << 20, 'x') + "\nb.example\n";
  const Read read = ReadText(text);
  EXPECT_THAT(read.invalid, SizeIs(1));
  EXPECT_THAT(read.urls, ElementsAre("https://b.example"));
}

TEST(UrlListTest, OverlongLastLineWithoutNewlineEndsTheList) {
  EXPECT_EQ(ReadText(std::string(1 << 20, 'x')).counts.invalid, 1u);
}

TEST(UrlListTest, LinesOfEveryLengthAroundTheBoundsComeBackWhole) {
  for (const size_t length : {kMaxUrlBytes - 1, kMaxUrlBytes, kMaxUrlBytes + 1024,
                              kMaxUrlBytes + 1025, 4 * kMaxUrlBytes + 4096}) {
    const std::string text = "a.example/" + std::string(length, 'x') + "\nb.example\n";
    EXPECT_EQ(ReadText(text).counts.urls, 2u) << length;
  }
}

TEST(UrlListTest, NulBytesMakeOneLineInvalid) {
  const Read read = ReadText(std::string_view("a.exa\0mple\nb.example\n", 21));
  EXPECT_THAT(read.urls, ElementsAre("https://b.example"));
  EXPECT_THAT(read.invalid, SizeIs(1));
}

TEST(UrlListTest, ReadsAPipeThatGivesItsBytesOneByOne) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (const char c : std::string("a.example\nb.example")) {
      ASSERT_EQ(write(ends[1], &c, 1), 1);
    }
    close(ends[1]);
  });
  const std::atomic<bool> stop{false};
  LineReader reader(ends[0], stop);
  const auto counts = ReadUrlList(reader, kAll, Hosts::kAll,
                                  [](uint64_t, const ListLine&) { return absl::OkStatus(); });
  writer.join();
  close(ends[0]);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->urls, 2u);
}

TEST(UrlListTest, StopsWhileAPipeIsSilent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<bool> stop{false};
  LineReader reader(ends[0], stop);
  std::thread stopper([&] { stop = true; });
  EXPECT_TRUE(absl::IsCancelled(reader.Next().status()));
  stopper.join();
  close(ends[0]);
  close(ends[1]);
}

TEST(OpenUrlListTest, SaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(std::string(OpenUrlList("/no/such/file").status().message()),
              HasSubstr("/no/such/file"));
  EXPECT_THAT(std::string(OpenUrlList("/tmp").status().message()), HasSubstr("directory"));
}

}  // namespace
}  // namespace fetchbench::coordinator
