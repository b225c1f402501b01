#include "common/record_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace fetchbench {
namespace {

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
  EXPECT_THAT(DecodeRecords(huge).status().message(), HasSubstr("start_delta_us"));
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
  const v1::RecordBatch batch = EncodeRecords(Typical(3));
  v1::RecordBatch redirects = batch;
  redirects.set_redirects_plus1(1, uint32_t{1} << 31);
  EXPECT_THAT(DecodeRecords(redirects).status().message(), HasSubstr("redirects_plus1"));
  v1::RecordBatch dns = batch;
  dns.set_dns_us_plus1(1, std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(DecodeRecords(dns).status().message(), HasSubstr("dns_us_plus1"));
  v1::RecordBatch wire = batch;
  wire.set_wire_bytes_plus1(1, uint64_t{1} << 60);
  EXPECT_THAT(DecodeRecords(wire).status().message(), HasSubstr("wire_bytes_plus1"));
}

}  // namespace
}  // namespace fetchbench
