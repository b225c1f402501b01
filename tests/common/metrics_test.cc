#include "common/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scrape.h"

namespace fetchbench {
namespace {

using test::HttpGet;
using test::Scrape;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(MetricsAddressTest, APortAloneIsOneOfLoopback) {
  EXPECT_EQ(*ParseMetricsAddress("9464"), "127.0.0.1:9464");
  EXPECT_EQ(*ParseMetricsAddress("localhost:9464"), "127.0.0.1:9464");
  EXPECT_EQ(*ParseMetricsAddress("0.0.0.0:9464"), "0.0.0.0:9464");
  EXPECT_EQ(*ParseMetricsAddress("[::1]:0"), "[::1]:0");
}

TEST(MetricsAddressTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", ":", ":9464", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:9464", "[::1]",
        "[127.0.0.1]:1", "example.com:9464", "9464s", "9464,9465", "127.0.0.1:9464s", "1 2"}) {
    const auto parsed = ParseMetricsAddress(text);
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("ADDRESS:PORT")) << text;
  }
}

TEST(MetricsServerTest, ServesTheLastPageThatWasPublished) {
  const auto server = MetricsServer::Start("0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Scrape((*server)->url()), Not(::testing::Contains(::testing::Key("a_total"))));
  MetricsPage page;
  page.Counter("a_total", "Of a.", 1, {{"kind", "x"}});
  page.Counter("a_total", "Of a.", 2, {{"kind", "y\"\n"}});
  page.Gauge("b", "Of b.", -0.5);
  (*server)->Publish(std::move(page));
  const std::string text = HttpGet((*server)->url());
  EXPECT_THAT(text, AllOf(HasSubstr("# HELP a_total Of a.\n# TYPE a_total counter\n"
                                    "a_total{kind=\"x\"} 1\n"
                                    "a_total{kind=\"y\\\"\\n\"} 2\n"),
                          HasSubstr("# TYPE b gauge\nb -0.5\n")));
  MetricsPage next;
  next.Gauge("b", "Of b.", 3);
  (*server)->Publish(std::move(next));
  EXPECT_EQ(Scrape((*server)->url()).at("b"), 3);
  EXPECT_THAT(HttpGet((*server)->url()), Not(HasSubstr("a_total")));
}

TEST(MetricsServerTest, AHistogramOfMicrosecondsBecomesOneOfSeconds) {
  Histogram us;
  for (int i = 0; i < 10; ++i) us.Add(200);
  for (int i = 0; i < 5; ++i) us.Add(70'000);
  us.Add(500'000'000);
  const auto server = MetricsServer::Start("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  MetricsPage page;
  page.Seconds("d_seconds", "Of d.", us);
  (*server)->Publish(std::move(page));
  const auto samples = Scrape((*server)->url());
  EXPECT_EQ(samples.at("d_seconds_bucket{le=\"0.001\"}"), 10);
  EXPECT_EQ(samples.at("d_seconds_bucket{le=\"0.05\"}"), 10);
  EXPECT_EQ(samples.at("d_seconds_bucket{le=\"0.1\"}"), 15);
  EXPECT_EQ(samples.at("d_seconds_bucket{le=\"120\"}"), 15);
  EXPECT_EQ(samples.at("d_seconds_bucket{le=\"+Inf\"}"), 16);
  EXPECT_EQ(samples.at("d_seconds_count"), 16);
  EXPECT_NEAR(samples.at("d_seconds_sum"), 500.352, 1e-6);
}

TEST(MetricsServerTest, SaysWhereItCannotServe) {
  const auto first = MetricsServer::Start("0");
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string url = (*first)->url();
  const size_t begin = url.find("127.");
  const std::string address = url.substr(begin, url.rfind('/') - begin);
  const auto second = MetricsServer::Start(address);
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("cannot serve metrics on " + address));
  EXPECT_TRUE(absl::IsUnavailable(MetricsServer::Start("192.0.2.1:0").status()));
}

TEST(MetricsServerTest, PublishesWhileManyScrape) {
  const auto server = MetricsServer::Start("0");
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&server] {
      for (int i = 0; i < 20; ++i) HttpGet((*server)->url());
    });
  }
  for (int i = 0; i < 2'000; ++i) {
    MetricsPage page;
    page.Gauge("b", "Of b.", i);
    (*server)->Publish(std::move(page));
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(Scrape((*server)->url()).at("b"), 1'999);
  EXPECT_THAT(HttpGet((*server)->url().substr(0, (*server)->url().rfind('/')) + "/etc/passwd"),
              IsEmpty());
}

}  // namespace
}  // namespace fetchbench
