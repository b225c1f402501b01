#include "common/record_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "common/record_numbers.h"

namespace fetchbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<Record> Typical(size_t n) {
  std::mt19937_64 random(1);
  std::vector<Record> records(n);
  for (size_t i = 0; i < n; ++i) {
    Record& r = records[i];
    r.index = random() % 10'000'000;
    r.outcome = i % 10 == 0 ? Outcome::kDnsNotFound : Outcome::kStatus;
    r.status = i % 10 == 0 ? 0 : 200;
    if (i % 10 == 0) r.error = "NXDOMAIN";
    r.start_us = 1'700'000'000'000'000 + static_cast<int64_t>(random() % 15'000'000);
    r.duration_us = static_cast<int64_t>(random() % 5'000'000);
    r.dns_us = static_cast<int64_t>(random() % 200'000);
    r.connect_us = static_cast<int64_t>(random() % 200'000);
    r.tls_us = static_cast<int64_t>(random() % 200'000);
    r.first_byte_us = static_cast<int64_t>(random() % 2'000'000);
    r.body_bytes = static_cast<int64_t>(random() % 2'000'000);
    r.wire_bytes = r.body_bytes + 5'000;
    r.redirects = 1;
    r.remote_address = "127.64.1." + std::to_string(random() % 256) + ":443";
    r.http_version = "1.1";
    r.tls_version = "1.3";
  }
  return records;
}

TEST(RecordCodecTest, RecordsSurviveTheRoundTrip) {
  const auto records = Typical(1'000);
  const auto decoded = DecodeRecords(EncodeRecords(records));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, records);
}

TEST(RecordCodecTest, ABatchOf1000CostsLessThan64BytesARecordBesideItsStrings) {
  const v1::RecordBatch batch = EncodeRecords(Typical(1'000));
  size_t texts = 0;
  for (const auto& text : batch.texts()) texts += text.size() + 2;
  EXPECT_LT((batch.ByteSizeLong() - texts) / 1'000, 64u);
}

TEST(RecordCodecTest, AnEmptyBatchIsValid) {
  const auto decoded = DecodeRecords(v1::RecordBatch());
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(decoded->empty());
}

TEST(RecordCodecTest, HostileBatchesAreRefused) {
  v1::RecordBatch batch = EncodeRecords(Typical(3));
  v1::RecordBatch shorter = batch;
  shorter.mutable_status()->RemoveLast();
  EXPECT_FALSE(DecodeRecords(shorter).ok());
  v1::RecordBatch bad_ref = batch;
  bad_ref.set_http_version_ref(0, 99);
  EXPECT_FALSE(DecodeRecords(bad_ref).ok());
  v1::RecordBatch bad_outcome = batch;
  bad_outcome.set_outcome(0, static_cast<v1::Outcome>(99));
  EXPECT_FALSE(DecodeRecords(bad_outcome).ok());
  v1::RecordBatch huge = batch;
  huge.set_index_delta(1, std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(DecodeRecords(huge).ok());  // whether it was lent is for another to say
  huge.set_start_delta_us(1, std::numeric_limits<int64_t>::max());
  EXPECT_THAT(DecodeRecords(huge).status().message(), HasSubstr("start_us is out of range"));
  v1::RecordBatch no_code = batch;
  no_code.set_outcome(0, v1::OUTCOME_STATUS);
  no_code.set_status(0, 0);
  EXPECT_FALSE(DecodeRecords(no_code).ok());
}

TEST(RecordCodecTest, BatchesThatAreLargeWhenUnpackedAreRefused) {
  EXPECT_TRUE(DecodeRecords(EncodeRecords(Typical(kMaxBatchRecords))).ok());
  EXPECT_FALSE(DecodeRecords(EncodeRecords(Typical(kMaxBatchRecords + 1))).ok());
  v1::RecordBatch batch = EncodeRecords(Typical(1'000));
  batch.add_texts(std::string(1 << 20, 'x'));
  const auto ref = static_cast<uint32_t>(batch.texts_size());
  batch.clear_error_ref();
  for (int i = 0; i < batch.index_delta_size(); ++i) batch.add_error_ref(ref);
  EXPECT_THAT(DecodeRecords(batch).status().message(), HasSubstr("MiB of texts"));
}

TEST(RecordCodecTest, FiguresOutOfRangeAreRefusedAndNamed) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  constexpr auto kLimit = static_cast<uint64_t>(kFigureLimit);
  const auto complaint = [](const auto& spoil) {
    v1::RecordBatch batch = EncodeRecords(Typical(3));
    spoil(batch);
    return std::string(DecodeRecords(batch).status().message());
  };
  const auto names = [](const std::string& figure) {
    return AllOf(HasSubstr("record 1"), HasSubstr(figure + " is out of range"));
  };
  // 257: what fits in a byte of it is an outcome.
  EXPECT_THAT(complaint([](auto& b) { b.set_outcome(1, static_cast<v1::Outcome>(257)); }),
              names("outcome"));
  EXPECT_THAT(complaint([](auto& b) { b.set_status(1, 1000); }), names("status"));
  EXPECT_THAT(complaint([](auto& b) { b.set_status(1, uint32_t{1} << 31); }), names("status"));
  EXPECT_THAT(complaint([](auto& b) { b.set_start_delta_us(1, kStartLimitUs); }),
              names("start_us"));
  for (const uint64_t odd : {kLimit, uint64_t{1} << 63, kMost}) {
    EXPECT_THAT(complaint([&](auto& b) { b.set_duration_us(1, odd); }), names("duration_us"));
    EXPECT_THAT(complaint([&](auto& b) { b.set_body_bytes(1, odd); }), names("body_bytes"));
  }
  for (const uint64_t odd : {kLimit + 1, uint64_t{1} << 63, kMost}) {
    EXPECT_THAT(complaint([&](auto& b) { b.set_dns_us_plus1(1, odd); }), names("dns_us"));
    EXPECT_THAT(complaint([&](auto& b) { b.set_connect_us_plus1(1, odd); }), names("connect_us"));
    EXPECT_THAT(complaint([&](auto& b) { b.set_tls_us_plus1(1, odd); }), names("tls_us"));
    EXPECT_THAT(complaint([&](auto& b) { b.set_first_byte_us_plus1(1, odd); }),
                names("first_byte_us"));
    EXPECT_THAT(complaint([&](auto& b) { b.set_wire_bytes_plus1(1, odd); }), names("wire_bytes"));
  }
  for (const uint32_t odd : {uint32_t{kRedirectsLimit} + 1, uint32_t{1} << 31, ~uint32_t{0}}) {
    EXPECT_THAT(complaint([&](auto& b) { b.set_redirects_plus1(1, odd); }), names("redirects"));
  }
}

}  // namespace
}  // namespace fetchbench
