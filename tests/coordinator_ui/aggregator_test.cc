#include "coordinator/summary/aggregator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fetchbench::coordinator {
namespace {

constexpr int64_t kStart = 1'769'903'999'000'000;
constexpr int64_t kTimeoutUs = 5'000'000;

Record Answer(int status, int64_t start_ms, int64_t duration_ms, int64_t body = 0) {
  Record r;
  r.outcome = Outcome::kStatus;
  r.status = status;
  r.start_us = kStart + start_ms * 1000;
  r.duration_us = duration_ms * 1000;
  r.body_bytes = body;
  return r;
}

Record Failure(Outcome outcome, int64_t start_ms, int64_t duration_ms) {
  Record r = Answer(0, start_ms, duration_ms);
  r.outcome = outcome;
  return r;
}

Measured Sum(const std::vector<Record>& records) {
  Aggregator aggregator(kTimeoutUs);
  for (const Record& record : records) aggregator.Add(record);
  return aggregator.Result();
}

std::vector<Record> RandomRun(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> duration(5.0, 1.2);
  std::vector<Record> records;
  for (size_t i = 0; i < n; ++i) {
    const auto start = static_cast<int64_t>(random() % 40'000);
    const auto ms = std::min<int64_t>(static_cast<int64_t>(duration(random)), 5'020);
    const uint64_t kind = random() % 100;
    if (kind < 80) {
      records.push_back(Answer(200 + static_cast<int>(kind % 7), start, ms,
                               static_cast<int64_t>(random() % 500'000)));
    } else if (kind < 82) {
      records.push_back(Answer(302, start, ms, 10));
    } else if (kind < 90) {
      records.push_back(Answer(404, start, ms, 1'000));
    } else if (kind < 91) {
      records.push_back(Answer(503, start, ms, 50));
    } else {
      records.push_back(Failure(Outcome::kDnsNotFound, start, ms));
    }
  }
  return records;
}

// The original benchmark's process-output.js, statement by statement, on the lines it would have
// read.
struct OriginalResult {
  size_t total_urls = 0;
  int64_t time = 0;
  int64_t avg = 0;
  int64_t max = 0;
  int64_t ok_reqs_sec = 0;
  double ok_reqs_pct = 0;
  int64_t avg_body_len = 0;
  size_t counts[5] = {};  // 2xx 3xx 4xx 5xx Exception
};

OriginalResult ProcessOutputJs(const std::vector<Record>& records) {
  OriginalResult result;
  std::vector<double> starts;
  std::vector<double> ends;
  std::vector<double> durations;
  std::vector<double> ok_bodies;
  for (const Record& r : records) {
    const std::string code =
        r.outcome == Outcome::kStatus ? std::to_string(r.status) : std::string("ENOTFOUND");
    const double start = static_cast<double>(r.start_us) / 1000;
    const double duration = static_cast<double>(r.duration_us) / 1000;
    starts.push_back(start);
    ends.push_back(start + duration);
    durations.push_back(duration);
    const bool three_digits = code.size() == 3 && std::all_of(code.begin(), code.end(), ::isdigit);
    if (!three_digits) {
      ++result.counts[4];
    } else {
      ++result.counts[code[0] - '2'];
      if (code[0] == '2') ok_bodies.push_back(static_cast<double>(r.body_bytes));
    }
  }
  const auto sum = [](const std::vector<double>& values) {
    double total = 0;
    for (const double value : values) total += value;
    return total;
  };
  const double time =
      *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());
  const auto ok = static_cast<double>(result.counts[0]);
  result.total_urls = records.size();
  result.time = std::llround(time);
  result.avg = std::llround(sum(durations) / static_cast<double>(durations.size()));
  result.max = std::llround(*std::max_element(durations.begin(), durations.end()));
  result.ok_reqs_sec = std::llround(ok / time * 1000);
  result.ok_reqs_pct = std::round(ok / static_cast<double>(records.size()) * 100) / 100;
  result.avg_body_len = std::llround(sum(ok_bodies) / static_cast<double>(ok_bodies.size()));
  return result;
}

TEST(AggregatorTest, AgreesWithTheOriginalProcessOutput) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const std::vector<Record> records = RandomRun(10'000, seed);
    const OriginalResult original = ProcessOutputJs(records);
    const Measured m = Sum(records);
    EXPECT_EQ(m.total_urls, original.total_urls);
    EXPECT_EQ(std::llround(static_cast<double>(m.time_us) / 1000), original.time);
    EXPECT_EQ(std::llround(m.all.mean_us / 1000), original.avg);
    EXPECT_EQ(std::llround(static_cast<double>(m.all.max_us) / 1000), original.max);
    EXPECT_EQ(std::llround(m.ok_per_second), original.ok_reqs_sec);
    EXPECT_EQ(std::round(m.ok_fraction * 100) / 100, original.ok_reqs_pct);
    EXPECT_EQ(std::llround(m.mean_ok_body_bytes), original.avg_body_len);
    EXPECT_EQ(m.classes.ok, original.counts[0]);
    EXPECT_EQ(m.classes.redirect, original.counts[1]);
    EXPECT_EQ(m.classes.client_error, original.counts[2]);
    EXPECT_EQ(m.classes.server_error, original.counts[3]);
    EXPECT_EQ(m.classes.exceptions, original.counts[4]);
  }
}

TEST(AggregatorTest, NothingGivesZerosAndNoDivisionByZero) {
  const Measured m = Sum({});
  EXPECT_EQ(m.total_urls, 0U);
  EXPECT_EQ(m.time_us, 0);
  EXPECT_EQ(m.ok_per_second, 0);
  EXPECT_EQ(m.ok_fraction, 0);
  EXPECT_EQ(m.mean_in_flight, 0);
  EXPECT_FALSE(m.wire_bytes.has_value());
}

TEST(AggregatorTest, OneRecordOfNoDurationGivesNoInfinity) {
  const Measured m = Sum({Answer(200, 0, 0, 5)});
  EXPECT_EQ(m.time_us, 0);
  EXPECT_EQ(m.ok_per_second, 0);
  EXPECT_EQ(m.ok_fraction, 1);
  EXPECT_EQ(m.mean_ok_body_bytes, 5);
}

TEST(AggregatorTest, TimeRunsFromTheFirstStartToTheLastEndInAnyOrder) {
  const Measured m = Sum({Answer(200, 500, 100), Answer(200, 100, 2'000), Answer(200, 900, 50)});
  EXPECT_EQ(m.first_start_us, kStart + 100'000);
  EXPECT_EQ(m.time_us, 2'000'000);
  EXPECT_DOUBLE_EQ(m.mean_in_flight, 2'150.0 / 2'000.0);
}

TEST(AggregatorTest, InvalidUrlsAreCountedButOutsideEveryTime) {
  Record noticed_here = Failure(Outcome::kInvalidUrl, 0, 0);
  noticed_here.start_us = 0;
  const Measured m =
      Sum({Answer(200, 1'000, 100), noticed_here, Failure(Outcome::kInvalidUrl, 90'000, 7)});
  EXPECT_EQ(m.total_urls, 3U);
  EXPECT_EQ(m.classes.exceptions, 2U);
  EXPECT_EQ(m.timed_urls, 1U);
  EXPECT_EQ(m.time_us, 100'000);
  EXPECT_EQ(m.all.mean_us, 100'000);
  EXPECT_EQ(m.failed.count, 0U);
}

TEST(AggregatorTest, CancelledRecordsAreTimedBecauseTheyWereStarted) {
  const Measured m = Sum({Answer(200, 0, 100), Failure(Outcome::kCancelled, 0, 300)});
  EXPECT_EQ(m.timed_urls, 2U);
  EXPECT_EQ(m.time_us, 300'000);
  EXPECT_EQ(m.outcomes[static_cast<size_t>(Outcome::kCancelled)], 1U);
}

TEST(AggregatorTest, FailuresDoNotHideHowLongSuccessesTook) {
  std::vector<Record> records;
  records.insert(records.end(), 100, Answer(200, 0, 1'000));
  records.insert(records.end(), 900, Failure(Outcome::kConnectRefused, 0, 1));
  const Measured m = Sum(records);
  EXPECT_NEAR(static_cast<double>(m.all.p50_us), 1'000, 1'000 * Histogram::kRelativeError);
  EXPECT_NEAR(static_cast<double>(m.ok.p50_us), 1e6, 1e6 * Histogram::kRelativeError);
  EXPECT_EQ(m.failed.p99_us, 1'000);
}

TEST(AggregatorTest, AFailureWithAStatusBesideItIsAnException) {
  Record truncated = Answer(200, 0, 100, 77);
  truncated.outcome = Outcome::kBodyTruncated;
  const Measured m = Sum({truncated});
  EXPECT_EQ(m.classes.ok, 0U);
  EXPECT_EQ(m.classes.exceptions, 1U);
  EXPECT_TRUE(m.status_codes.empty());
  EXPECT_EQ(m.body_bytes, 77U);
  EXPECT_EQ(m.mean_ok_body_bytes, 0);
}

TEST(AggregatorTest, StatusesOutsideTheFourClassesAreCountedAndNamed) {
  const Measured m = Sum({Answer(101, 0, 1), Answer(999, 0, 1), Answer(600, 0, 1), Answer(0, 0, 1),
                          Answer(1'234, 0, 1), Answer(-3, 0, 1)});
  EXPECT_EQ(m.classes.other_status, 6U);
  EXPECT_EQ(m.classes.Total(), 6U);
  EXPECT_EQ(m.status_codes.at(101), 1U);
  EXPECT_EQ(m.status_codes.at(600), 1U);
  EXPECT_EQ(m.answered.count, 6U);
}

TEST(AggregatorTest, OvershootIsWhatGoesBeyondTheTimeout) {
  const Measured m = Sum({Answer(200, 0, 4'999), Failure(Outcome::kTimeoutInBody, 0, 5'000),
                          Failure(Outcome::kConnectTimeout, 0, 5'018)});
  EXPECT_EQ(m.overshoot.count, 2U);
  EXPECT_EQ(m.overshoot.min_us, 0);
  EXPECT_EQ(m.overshoot.max_us, 18'000);
}

TEST(AggregatorTest, TimeTo99PercentLeavesOutTheTailOfTimeouts) {
  std::vector<Record> records;
  records.reserve(1'000);
  for (int i = 0; i < 995; ++i) records.push_back(Answer(200, i, 100));
  for (int i = 0; i < 5; ++i) records.push_back(Failure(Outcome::kConnectTimeout, 900, 5'000));
  const Measured m = Sum(records);
  EXPECT_EQ(m.time_us, 5'900'000);
  EXPECT_NEAR(static_cast<double>(m.time_to_99_us), 1'089'000, 1'001);
}

TEST(AggregatorTest, WireBytesAndRedirectsAreOfTheRecordsThatTell) {
  Record telling = Answer(200, 0, 1, 10);
  telling.wire_bytes = 300;
  telling.redirects = 2;
  const Measured m = Sum({telling, Answer(200, 0, 1, 20)});
  EXPECT_EQ(m.wire_bytes, 300U);
  EXPECT_EQ(m.redirects, 2U);
  EXPECT_EQ(m.body_bytes, 30U);
}

TEST(AggregatorTest, AbsurdNumbersFromAPeerDoNotOverflow) {
  Record absurd = Answer(200, 0, 0);
  absurd.start_us = INT64_MAX;
  absurd.duration_us = INT64_MAX;
  absurd.body_bytes = -1;
  Record early = Answer(200, 0, 0);
  early.start_us = -5;
  early.duration_us = -7;
  const Measured m = Sum({absurd, early, Answer(200, 0, 10)});
  EXPECT_EQ(m.total_urls, 3U);
  EXPECT_EQ(m.timed_urls, 2U);
  EXPECT_GT(m.time_us, 0);
}

}  // namespace
}  // namespace fetchbench::coordinator
