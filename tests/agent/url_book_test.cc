#include "agent/url_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace fetchbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::Lease MakeLease(uint64_t id, uint64_t first, const std::vector<std::string>& urls) {
  v1::Lease lease;
  lease.set_lease_id(id);
  for (size_t i = 0; i < urls.size(); ++i) {
    lease.add_index_delta(i == 0 ? static_cast<int64_t>(first) : 1);
    lease.add_url(urls[i]);
  }
  return lease;
}

class UrlBookTest : public ::testing::Test {
 protected:
  void Add(uint64_t id, uint64_t first, const std::vector<std::string>& urls) {
    const absl::Status s = book_.Add(MakeLease(id, first, urls), unfeedable_);
    ASSERT_TRUE(s.ok()) << s;
  }
  std::string Take(size_t max_urls = 1000, size_t max_bytes = 1 << 20) {
    std::string lines;
    book_.TakeForFeeding(max_urls, max_bytes, 5, lines);
    return lines;
  }
  int64_t CloseIndex(const std::string& url) {
    const auto closed = book_.Close(url);
    return closed ? static_cast<int64_t>(closed->index) : -1;
  }

  UrlBook book_;
  std::vector<LeasedUrl> unfeedable_;
};

TEST_F(UrlBookTest, FeedsInOrderWithinBothBounds) {
  Add(1, 10, {"a", "b", "c", "d"});
  EXPECT_EQ(Take(1), "a\n");
  EXPECT_EQ(Take(10, 3), "b\nc\n") << "one URL beyond the bytes ends it";
  EXPECT_EQ(book_.open(), 3);
  EXPECT_EQ(book_.waiting(), 1);
}

TEST_F(UrlBookTest, RecordClosesTheOldestOpenIndexOfItsUrl) {
  Add(1, 0, {"same", "other", "same", "same"});
  Take(3);
  EXPECT_EQ(CloseIndex("same"), 0);
  EXPECT_EQ(CloseIndex("same"), 2);
  EXPECT_EQ(CloseIndex("same"), -1) << "the third waits still: the target cannot know it";
  Take();
  EXPECT_EQ(CloseIndex("same"), 3);
  EXPECT_EQ(CloseIndex("other"), 1);
  EXPECT_EQ(CloseIndex("never"), -1);
  EXPECT_EQ(book_.held(), 0);
}

TEST_F(UrlBookTest, LeaseIsHeldUntilAllItsRecordsAreCommitted) {
  Add(7, 0, {"a", "b"});
  Add(8, 5, {"c"});
  Take();
  EXPECT_EQ(CloseIndex("a"), 0);
  EXPECT_EQ(CloseIndex("b"), 1);
  EXPECT_THAT(book_.HeldLeases(), ElementsAre(7, 8));
  book_.Commit(7, 1);
  EXPECT_THAT(book_.HeldLeases(), ElementsAre(7, 8));
  book_.Commit(7, 1);
  EXPECT_THAT(book_.HeldLeases(), ElementsAre(8));
  book_.Commit(7, 1);
  book_.Commit(99, 1);
}

TEST_F(UrlBookTest, UrlsThatAreNoLineAreHandedBack) {
  Add(1, 0,
      {"ok", "", "two\nlines", "carriage\rreturn", std::string("nul\0", 4),
       std::string(2 << 20, 'x')});
  EXPECT_THAT(unfeedable_, SizeIs(5));
  EXPECT_EQ(Take(), "ok\n");
  EXPECT_EQ(unfeedable_[0].index, 1);
}

TEST_F(UrlBookTest, TheLongestUrlIsFed) {
  const std::string url = "https://a.test/" + std::string(kMaxUrlBytes - 15, 'x');
  Add(1, 0, {url});
  EXPECT_EQ(Take(), url + "\n");
  EXPECT_EQ(CloseIndex(url), 0);
}

TEST_F(UrlBookTest, RefusesLeasesThatBreakTheProtocol) {
  v1::Lease lease = MakeLease(1, 0, {"a", "b"});
  lease.add_url("c");
  EXPECT_THAT(std::string(book_.Add(lease, unfeedable_).message()),
              HasSubstr("2 indices but 3 URLs"));

  Add(2, 0, {"a"});
  EXPECT_FALSE(book_.Add(MakeLease(2, 50, {"a"}), unfeedable_).ok()) << "the same lease twice";

  lease = MakeLease(3, 0, {"a"});
  lease.set_index_delta(0, -1);
  EXPECT_THAT(std::string(book_.Add(lease, unfeedable_).message()), HasSubstr("negative index"));
}

// A coordinator takes back what it lent to an agent that stays away, and may lend it to the same
// agent when it is back: which goes on with it all the while.
TEST_F(UrlBookTest, AnIndexThatIsHeldStaysWithItsEarlierLease) {
  Add(1, 0, {"a", "b"});
  EXPECT_EQ(Take(1), "a\n");
  Add(2, 0, {"a", "b", "c"});
  EXPECT_EQ(Take(), "b\nc\n") << "each once";
  const auto closed = book_.Close("a");
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->lease_id, 1);
  EXPECT_EQ(CloseIndex("c"), 2);
  book_.Commit(2, 1);
  EXPECT_THAT(book_.HeldLeases(), ElementsAre(1)) << "of the second, c was all";
  Add(3, 1, {"b"});
  EXPECT_THAT(book_.HeldLeases(), ElementsAre(1));
}

TEST_F(UrlBookTest, HoldsABoundedNumberOfUrls) {
  const std::vector<std::string> urls(kMaxHeldUrls / 4, "https://a.test/");
  uint64_t first = 0;
  absl::Status s;
  uint64_t id = 1;
  for (; id <= 8 && s.ok(); ++id) {
    s = book_.Add(MakeLease(id, first, urls), unfeedable_);
    first += urls.size();
  }
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LE(book_.held(), kMaxHeldUrls);
}

// Whoever sends more than was granted: at most a URL of it is let pass.
TEST_F(UrlBookTest, HoldsNoMoreBytesThanWereGrantedAndAUrl) {
  constexpr uint64_t kGranted = 1 << 20;
  UrlBook book(0, kGranted);
  const std::string url = "https://a.test/" + std::string(50'000, 'x');
  absl::Status s;
  for (uint64_t id = 1; id <= 100 && s.ok(); ++id) {
    s = book.Add(MakeLease(id, id, {url}), unfeedable_);
  }
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(s.message()), HasSubstr("or 1 MiB"));
  EXPECT_GT(book.held_bytes(), kGranted);
  EXPECT_LE(book.held_bytes(), kGranted + 2 * UrlCost(kMaxUrlBytes));
}

TEST(HeldBytesTest, AreAShareOfTheMemoryLimitWithinBounds) {
  EXPECT_EQ(HeldBytesWithin(uint64_t{64} << 20), 16 << 20);
  EXPECT_EQ(HeldBytesWithin(uint64_t{512} << 20), kMaxHeldBytes);
  EXPECT_EQ(HeldBytesWithin(uint64_t{4} << 30), kMaxHeldBytes);
  EXPECT_EQ(HeldBytesWithin(0), kMaxHeldBytes) << "no limit";
}

TEST_F(UrlBookTest, CloseAllGivesEveryOpenOneAndNoneThatWaits) {
  Add(1, 0, {"x", "y", "x", "z"});
  Take(3);
  std::vector<uint64_t> indices;
  for (const OpenUrl& open : book_.CloseAll()) indices.push_back(open.leased.index);
  EXPECT_THAT(indices, ElementsAre(0, 1, 2));
  EXPECT_EQ(book_.DropWaiting(), 1);
  EXPECT_EQ(book_.held(), 0);
  EXPECT_THAT(book_.CloseAll(), IsEmpty());
  EXPECT_EQ(CloseIndex("x"), -1);
}

// Against a plain model: per URL a queue of indices.
TEST_F(UrlBookTest, MatchesAPlainModelUnderRandomUse) {
  std::mt19937 random(1);
  std::map<std::string, std::deque<int64_t>> model;
  std::deque<std::pair<std::string, int64_t>> waiting;
  int64_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::string url =
        "https://a-rather-long-host-name." + std::to_string(random() % 30) + ".test/";
    switch (random() % 3) {
      case 0:
        Add(static_cast<uint64_t>(step) + 1, static_cast<uint64_t>(next), {url});
        waiting.emplace_back(url, next++);
        break;
      case 1:
        Take(1);
        if (!waiting.empty()) {
          model[waiting.front().first].push_back(waiting.front().second);
          waiting.pop_front();
        }
        break;
      default: {
        auto& queue = model[url];
        const int64_t expected = queue.empty() ? -1 : queue.front();
        if (!queue.empty()) queue.pop_front();
        ASSERT_EQ(CloseIndex(url), expected) << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace fetchbench::agent
