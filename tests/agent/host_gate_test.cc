#include "agent/host_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/url_book.h"

namespace fetchbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HostOfTest, IsTheNameAloneInLowerCase) {
  EXPECT_EQ(HostOf("https://A.Example/Path?x=http://b/"), "a.example");
  EXPECT_EQ(HostOf("http://user:p@ss@a.example:8080/"), "a.example");
  EXPECT_EQ(HostOf("http://a.example?q"), "a.example");
  EXPECT_EQ(HostOf("http://a.example#f:1"), "a.example");
  EXPECT_EQ(HostOf("http://[2001:DB8::1]:80/"), "2001:db8::1");
  EXPECT_EQ(HostOf("http://[2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(HostOf("a.example:80/x"), "a.example");
  EXPECT_EQ(HostOf(""), "");
}

// A book with a limit, and what it gives.
class HostGateTest : public ::testing::Test {
 protected:
  void Lend(const std::vector<std::string>& urls) {
    v1::Lease lease;
    lease.set_lease_id(next_lease_++);
    for (const std::string& url : urls) {
      lease.add_index_delta(lease.url_size() == 0 ? next_index_ : 1);
      lease.add_url(url);
      ++next_index_;
    }
    std::vector<LeasedUrl> unfeedable;
    const absl::Status s = book_.Add(std::move(lease), unfeedable);
    ASSERT_TRUE(s.ok()) << s;
  }
  std::vector<std::string> Take(size_t most = 1'000'000) {
    std::string lines;
    book_.TakeForFeeding(most, 64 << 20, 5, lines);
    std::vector<std::string> urls;
    for (size_t begin = 0, end = 0; (end = lines.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      urls.push_back(lines.substr(begin, end - begin));
    }
    return urls;
  }

  UrlBook book_{2};
  uint64_t next_lease_ = 1;
  int64_t next_index_ = 0;
};

TEST_F(HostGateTest, OthersGoPastAHostThatIsFull) {
  Lend({"http://a/1", "http://a/2", "http://a/3", "http://a/4", "http://b/1"});
  EXPECT_THAT(Take(), ElementsAre("http://a/1", "http://a/2", "http://b/1"));
  EXPECT_EQ(book_.waiting(), 2u);
  EXPECT_EQ(book_.held_back(), 2u);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(HostGateTest, ARecordLetsTheNextOfItsHostGo) {
  Lend({"http://a/1", "http://A/2", "http://a:80/3", "http://a/4", "http://b/1"});
  Take();
  ASSERT_TRUE(book_.Close("http://b/1"));
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(book_.Close("http://A/2"));
  EXPECT_EQ(book_.held_back(), 1u);
  EXPECT_EQ(book_.waiting(), 2u) << "one has room and was not taken yet";
  Lend({"http://a/5", "http://c/1"});
  EXPECT_THAT(Take(), ElementsAre("http://a:80/3", "http://c/1")) << "in the order of the lease";
  ASSERT_TRUE(book_.Close("http://a/1"));
  ASSERT_TRUE(book_.Close("http://a:80/3"));
  EXPECT_THAT(Take(), ElementsAre("http://a/4", "http://a/5"));
  EXPECT_EQ(book_.waiting(), 0u);
}

TEST_F(HostGateTest, NeverMoreThanTheLimitIsOpenWhateverIsAnsweredInWhichOrder) {
  std::vector<std::string> urls;
  for (int i = 0; i < 300; ++i) {
    urls.push_back("http://h" + std::to_string(i * i % 7) + "/" + std::to_string(i));
  }
  Lend(urls);
  std::vector<std::string> open;
  size_t done = 0;
  for (size_t step = 0; done < urls.size(); ++step) {
    for (std::string& url : Take(3)) open.push_back(std::move(url));
    for (const std::string& url : open) {
      const auto same = [&](const std::string& other) { return HostOf(other) == HostOf(url); };
      ASSERT_LE(std::ranges::count_if(open, same), 2);
    }
    ASSERT_FALSE(open.empty());
    const auto next = open.begin() + static_cast<ptrdiff_t>(step * 5 % open.size());
    ASSERT_TRUE(book_.Close(*next));
    open.erase(next);
    ++done;
  }
  EXPECT_EQ(book_.held(), 0u);
}

TEST_F(HostGateTest, WhatIsHeldBackIsBounded) {
  std::vector<std::string> urls;
  for (size_t i = 0; i < HostGate::kMaxHeldBack + 100; ++i) {
    urls.push_back("http://a/" + std::to_string(i));
  }
  urls.emplace_back("http://b/");
  Lend(urls);
  EXPECT_THAT(Take(), ElementsAre("http://a/0", "http://a/1"));
  EXPECT_EQ(book_.held_back(), HostGate::kMaxHeldBack);
  EXPECT_EQ(book_.waiting(), urls.size() - 2);
  ASSERT_TRUE(book_.Close("http://a/0"));
  EXPECT_THAT(Take(), ElementsAre("http://a/2"));
}

TEST_F(HostGateTest, BytesThatAreHeldBackAreBoundedToo) {
  const std::string longest(64 << 10, 'x');
  for (int i = 0; i < 300; ++i) Lend({"http://a/" + std::to_string(i) + longest});
  EXPECT_EQ(Take().size(), 2u);
  EXPECT_LE(book_.held_back() * longest.size(), HostGate::kMaxHeldBackBytes);
}

TEST_F(HostGateTest, DroppedUrlsAreForgotten) {
  Lend({"http://a/1", "http://a/2", "http://a/3", "http://a/4", "http://a/5"});
  Take();
  ASSERT_TRUE(book_.Close("http://a/1"));  // the third may go, the others are held back
  EXPECT_EQ(book_.DropWaiting(), 3u);
  EXPECT_EQ(book_.waiting(), 0u);
  EXPECT_EQ(book_.CloseAll().size(), 1u);
  Lend({"http://a/3", "http://a/4", "http://a/5"});
  EXPECT_THAT(Take(), ElementsAre("http://a/3", "http://a/4"));
}

TEST(HostGateWithoutLimitTest, HoldsNothingBack) {
  HostGate gate(0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(gate.Enter("http://a/"));
  gate.Leave("http://a/");
  EXPECT_EQ(gate.size(), 0u);
}

}  // namespace
}  // namespace fetchbench::agent
