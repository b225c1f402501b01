// Standard input on its way to the workers: lines, queue, descriptor limit, hosts file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "agent/native/fd_limit.h"
#include "agent/native/hosts_file.h"
#include "agent/native/line_splitter.h"
#include "agent/native/url_queue.h"

namespace fetchbench::native {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Lines(std::string_view bytes, size_t piece) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const auto take = [&lines](std::string line) {
    lines.push_back(std::move(line));
    return true;
  };
  while (!bytes.empty()) {
    splitter.Feed(bytes.substr(0, piece), take);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  splitter.Finish(take);
  return lines;
}

TEST(LineSplitterTest, TakesCrlfBlankLinesByteOrderMarkAndAMissingLastNewline) {
  for (const size_t piece : {1, 2, 5, 1000}) {
    EXPECT_THAT(Lines("\xef\xbb\xbf"
                      "a\r\n\r\n \t\n\nb c\nd",
                      piece),
                ElementsAre("a", "b c", "d"));
    EXPECT_THAT(Lines("", piece), IsEmpty());
    EXPECT_THAT(Lines("\n\n", piece), IsEmpty());
    EXPECT_THAT(Lines(std::string_view("a\0b\n", 4), piece), ElementsAre(std::string("a\0b", 3)));
  }
}

TEST(LineSplitterTest, ALineWithoutEndIsCutNotHeld) {
  const auto lines = Lines(std::string(LineSplitter::kMaxLine + 1000, 'x') + "\nb\n", 65536);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), LineSplitter::kMaxLine);
  EXPECT_EQ(lines[1], "b");
}

TEST(UrlQueueTest, PushWaitsForRoomAndCloseEndsIt) {
  UrlQueue queue(2);
  const size_t consumer = queue.AddConsumer([] {});
  std::vector<std::string> taken;
  std::thread producer([&queue] {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue.Push(std::to_string(i)));
    queue.Close();
  });
  std::string line;
  for (UrlQueue::Pop pop = UrlQueue::Pop::kEmpty; pop != UrlQueue::Pop::kEnd;) {
    pop = queue.TryPop(consumer, line);
    if (pop == UrlQueue::Pop::kUrl) taken.push_back(line);
    if (pop == UrlQueue::Pop::kEmpty) std::this_thread::yield();
  }
  producer.join();
  ASSERT_EQ(taken.size(), 100u);
  EXPECT_EQ(taken.back(), "99");
  EXPECT_FALSE(queue.Push("late"));
}

TEST(UrlQueueTest, AConsumerThatFoundNothingIsWokenOnce) {
  UrlQueue queue(10);
  int wakes = 0;
  const size_t consumer = queue.AddConsumer([&wakes] { ++wakes; });
  std::string line;
  EXPECT_EQ(queue.TryPop(consumer, line), UrlQueue::Pop::kEmpty);
  queue.Push("a");
  queue.Push("b");
  EXPECT_EQ(wakes, 1);
}

TEST(UrlQueueTest, AbandonDropsWhatIsQueuedAndFreesTheProducer) {
  UrlQueue queue(1);
  const size_t consumer = queue.AddConsumer([] {});
  queue.Push("a");
  std::thread producer([&queue] { EXPECT_FALSE(queue.Push("b")); });
  queue.Abandon();
  producer.join();
  std::string line;
  EXPECT_EQ(queue.TryPop(consumer, line), UrlQueue::Pop::kEnd);
}

TEST(FdLimitTest, AConcurrencyThatCannotFitIsRefusedWithTheLimitNamed) {
  EXPECT_TRUE(RaiseFdLimit(16).ok());
  const absl::Status status = RaiseFdLimit(uint64_t{1} << 40);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("RLIMIT_NOFILE"));
  EXPECT_GT(DescriptorsNeeded(1000, 2), 1000u);
}

TEST(HostsFileTest, NamesAndAliasesAreFoundAndNonsenseIsSkipped) {
  const HostsFile hosts = HostsFile::Parse(
      "# comment\n127.0.0.1\tlocalhost A.test b.test # c.test\nnonsense d.test\n::1 "
      "a.test\n10.0.0.1");
  ASSERT_NE(hosts.Find("a.test"), nullptr);
  EXPECT_EQ(hosts.Find("a.test")->size(), 2u);
  EXPECT_NE(hosts.Find("b.test"), nullptr);
  EXPECT_EQ(hosts.Find("c.test"), nullptr);
  EXPECT_EQ(hosts.Find("d.test"), nullptr);
  EXPECT_EQ(HostsFile::Load("/nonexistent").Find("a.test"), nullptr);
}

TEST(HostsFileTest, LocalhostNamesNeedNoResolver) {
  EXPECT_TRUE(IsLocalhost("localhost"));
  EXPECT_TRUE(IsLocalhost("x.localhost."));
  EXPECT_FALSE(IsLocalhost("notlocalhost"));
}

}  // namespace
}  // namespace fetchbench::native
