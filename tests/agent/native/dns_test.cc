#include <ares.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "agent/native/dns_answer.h"
#include "agent/native/dns_cache.h"
#include "agent/native/errors.h"
#include "agent/native/happy_eyeballs.h"

namespace fetchbench::native {
namespace {

using net::ip::make_address;
using ::testing::ElementsAre;

class FakeClock final : public Clock {
 public:
  SteadyTime Now() const override { return now; }
  int64_t WallUs() const override { return 0; }
  SteadyTime now{std::chrono::seconds(1000)};
};

class FakeResolver final : public DnsResolver {
 public:
  void Resolve(const std::string& host, Family family, DnsCallback done) override {
    ++queries;
    pending.push_back({host, family, std::move(done)});
  }

  // Answers all queries for `family`.
  void Answer(Family family, const std::vector<std::string>& addresses, int error = ARES_SUCCESS) {
    for (auto& query : std::exchange(pending, {})) {
      if (query.family != family) {
        pending.push_back(std::move(query));
        continue;
      }
      DnsAnswer answer;
      for (const std::string& text : addresses) answer.addresses.push_back(make_address(text));
      answer.ttl = std::chrono::seconds(10);
      if (error != ARES_SUCCESS) answer.error = MakeDnsError(error);
      query.done(std::move(answer));
    }
  }

  struct Query {
    std::string host;
    Family family;
    DnsCallback done;
  };
  std::vector<Query> pending;
  int queries = 0;
};

class DnsCacheTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  FakeResolver resolver_;
  DnsCache cache_{resolver_, clock_, true};
};

TEST_F(DnsCacheTest, OneLookupServesEverybodyWhoAsks) {
  const auto first = cache_.Get("a.test");
  EXPECT_EQ(cache_.Get("a.test"), first);
  EXPECT_EQ(resolver_.queries, 2);  // A and AAAA
  resolver_.Answer(Family::kIpv4, {"192.0.2.1"});
  EXPECT_FALSE(first->done());
  resolver_.Answer(Family::kIpv6, {}, ARES_ENODATA);
  EXPECT_TRUE(first->done());
  EXPECT_FALSE(first->error());
  EXPECT_EQ(cache_.Get("a.test"), first);
  EXPECT_EQ(resolver_.queries, 2);
}

TEST_F(DnsCacheTest, AnswersLiveAsLongAsTheirTtl) {
  const auto first = cache_.Get("a.test");
  resolver_.Answer(Family::kIpv4, {"192.0.2.1"});
  resolver_.Answer(Family::kIpv6, {"2001:db8::1"});
  clock_.now += std::chrono::seconds(9);
  EXPECT_EQ(cache_.Get("a.test"), first);
  clock_.now += std::chrono::seconds(2);
  EXPECT_NE(cache_.Get("a.test"), first);
}

TEST_F(DnsCacheTest, FailuresAreNotKept) {
  const auto first = cache_.Get("a.test");
  resolver_.Answer(Family::kIpv4, {}, ARES_ENOTFOUND);
  resolver_.Answer(Family::kIpv6, {}, ARES_ENOTFOUND);
  EXPECT_EQ(first->error(), MakeDnsError(ARES_ENOTFOUND));
  EXPECT_NE(cache_.Get("a.test"), first);
}

TEST_F(DnsCacheTest, AFailureSaysMoreThanNoAddress) {
  const auto lookup = cache_.Get("a.test");
  resolver_.Answer(Family::kIpv4, {}, ARES_ENODATA);
  resolver_.Answer(Family::kIpv6, {}, ARES_ESERVFAIL);
  EXPECT_EQ(lookup->error(), MakeDnsError(ARES_ESERVFAIL));
}

TEST_F(DnsCacheTest, IsBounded) {
  for (size_t i = 0; i < 3 * DnsCache::kMaxEntries; ++i) {
    cache_.Get("host" + std::to_string(i) + ".test");
    resolver_.Answer(Family::kIpv4, {"192.0.2.1"});
    resolver_.Answer(Family::kIpv6, {"2001:db8::1"});
  }
  const int before = resolver_.queries;
  cache_.Get("host0.test");
  EXPECT_EQ(resolver_.queries, before + 2);
  cache_.Get("host" + std::to_string(3 * DnsCache::kMaxEntries - 1) + ".test");
  EXPECT_EQ(resolver_.queries, before + 2);
}

TEST(AddressOrderTest, FamiliesTakeTurnsIpv6First) {
  AddressOrder order;
  order.Add({make_address("192.0.2.1"), make_address("192.0.2.2"), make_address("192.0.2.3")});
  order.Add({make_address("2001:db8::1"), make_address("2001:db8::2")});
  std::vector<std::string> taken;
  while (!order.empty()) taken.push_back(order.Take().to_string());
  EXPECT_THAT(taken,
              ElementsAre("2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "192.0.2.3"));
}

TEST(ParseDnsAnswerTest, GarbageIsAnErrorNotACrash) {
  const std::string bytes(40, '\xff');
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    EXPECT_TRUE(ParseDnsAnswer(data, static_cast<int>(size), Family::kIpv4).error.failed());
    EXPECT_TRUE(ParseDnsAnswer(data, static_cast<int>(size), Family::kIpv6).error.failed());
  }
}

}  // namespace
}  // namespace fetchbench::native
