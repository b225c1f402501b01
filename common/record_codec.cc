#include "common/record_codec.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/record_numbers.h"

namespace fetchbench {
namespace {

static_assert(static_cast<int>(Outcome::kStatus) == v1::OUTCOME_STATUS);
static_assert(static_cast<int>(Outcome::kInvalidUrl) == v1::OUTCOME_INVALID_URL);
static_assert(static_cast<int>(Outcome::kConnectionReset) == v1::OUTCOME_CONNECTION_RESET);
static_assert(static_cast<int>(Outcome::kResponseMalformed) == v1::OUTCOME_RESPONSE_MALFORMED);
static_assert(static_cast<int>(Outcome::kCancelled) == v1::OUTCOME_CANCELLED);
static_assert(kOutcomeCount == v1::Outcome_ARRAYSIZE);

// Gives each distinct text of a batch one reference; the empty text is 0.
class TextTable {
 public:
  explicit TextTable(v1::RecordBatch& batch) : batch_(batch) {}

  uint32_t Ref(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, added] = refs_.try_emplace(text, batch_.texts_size() + 1);
    if (added) batch_.add_texts(std::string(text));
    return it->second;
  }

 private:
  v1::RecordBatch& batch_;
  absl::flat_hash_map<std::string_view, uint32_t> refs_;
};

uint64_t Plus1(int64_t value) { return value < 0 ? 0 : static_cast<uint64_t>(value) + 1; }

// Drops a column that holds only zeros: nobody told it.
template <typename Column>
void ClearIfZero(Column* column) {
  for (const auto value : *column) {
    if (value != 0) return;
  }
  column->Clear();
}

void ClearUntoldColumns(v1::RecordBatch& b) {
  ClearIfZero(b.mutable_error_ref());
  ClearIfZero(b.mutable_dns_us_plus1());
  ClearIfZero(b.mutable_connect_us_plus1());
  ClearIfZero(b.mutable_tls_us_plus1());
  ClearIfZero(b.mutable_first_byte_us_plus1());
  ClearIfZero(b.mutable_wire_bytes_plus1());
  ClearIfZero(b.mutable_redirects_plus1());
  ClearIfZero(b.mutable_remote_address_ref());
  ClearIfZero(b.mutable_http_version_ref());
  ClearIfZero(b.mutable_tls_version_ref());
}

absl::Status Wrong(std::string_view column) {
  return absl::InvalidArgumentError(fmt::format("record batch: column {} is malformed", column));
}

absl::Status CheckLengths(const v1::RecordBatch& b) {
  const int n = b.index_delta_size();
  if (n > kMaxBatchRecords) {
    return absl::InvalidArgumentError(
        fmt::format("record batch: {} records, at most {}", n, kMaxBatchRecords));
  }
  if (b.outcome_size() != n) return Wrong("outcome");
  if (b.status_size() != n) return Wrong("status");
  if (b.start_delta_us_size() != n) return Wrong("start_delta_us");
  if (b.duration_us_size() != n) return Wrong("duration_us");
  if (b.body_bytes_size() != n) return Wrong("body_bytes");
  const auto optional = [n](int size) { return size == 0 || size == n; };
  if (!optional(b.error_ref_size())) return Wrong("error_ref");
  if (!optional(b.dns_us_plus1_size())) return Wrong("dns_us_plus1");
  if (!optional(b.connect_us_plus1_size())) return Wrong("connect_us_plus1");
  if (!optional(b.tls_us_plus1_size())) return Wrong("tls_us_plus1");
  if (!optional(b.first_byte_us_plus1_size())) return Wrong("first_byte_us_plus1");
  if (!optional(b.wire_bytes_plus1_size())) return Wrong("wire_bytes_plus1");
  if (!optional(b.redirects_plus1_size())) return Wrong("redirects_plus1");
  if (!optional(b.remote_address_ref_size())) return Wrong("remote_address_ref");
  if (!optional(b.http_version_ref_size())) return Wrong("http_version_ref");
  if (!optional(b.tls_version_ref_size())) return Wrong("tls_version_ref");
  return absl::OkStatus();
}

// Sets `text` from entry i of a reference column; false when the reference points nowhere.
template <typename Column>
bool TextAt(const v1::RecordBatch& b, const Column& column, int i, std::string& text) {
  if (column.empty() || column.Get(i) == 0) return true;
  if (column.Get(i) > static_cast<uint32_t>(b.texts_size())) return false;
  text = b.texts(static_cast<int>(column.Get(i)) - 1);
  return true;
}

// Entry i of a column that a target may leave out. What is too large for the result becomes a
// number below kNotTold.
template <typename Column>
int64_t ToldAt(const Column& column, int i) {
  return column.empty() || column.Get(i) == 0 ? kNotTold : static_cast<int64_t>(column.Get(i) - 1);
}

absl::Status DecodeTexts(const v1::RecordBatch& b, int i, Record& r) {
  if (!TextAt(b, b.error_ref(), i, r.error)) return Wrong("error_ref");
  if (!TextAt(b, b.remote_address_ref(), i, r.remote_address)) return Wrong("remote_address_ref");
  if (!TextAt(b, b.http_version_ref(), i, r.http_version)) return Wrong("http_version_ref");
  if (!TextAt(b, b.tls_version_ref(), i, r.tls_version)) return Wrong("tls_version_ref");
  return absl::OkStatus();
}

// Wrapping addition: a hostile delta must not be undefined behaviour.
uint64_t Add(uint64_t base, int64_t delta) { return base + static_cast<uint64_t>(delta); }

absl::Status DecodeNumbers(const v1::RecordBatch& b, int i, Record& r) {
  ToldNumbers told;
  told.outcome = b.outcome(i);
  told.status = b.status(i);
  told.start_us =
      static_cast<int64_t>(Add(static_cast<uint64_t>(b.start_base_us()), b.start_delta_us(i)));
  told.duration_us = static_cast<int64_t>(b.duration_us(i));
  told.dns_us = ToldAt(b.dns_us_plus1(), i);
  told.connect_us = ToldAt(b.connect_us_plus1(), i);
  told.tls_us = ToldAt(b.tls_us_plus1(), i);
  told.first_byte_us = ToldAt(b.first_byte_us_plus1(), i);
  told.body_bytes = static_cast<int64_t>(b.body_bytes(i));
  told.wire_bytes = ToldAt(b.wire_bytes_plus1(), i);
  told.redirects = ToldAt(b.redirects_plus1(), i);
  const std::string_view wrong = TakeNumbers(told, r);
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("record batch: record {}: {} is out of range", i, wrong));
}

}  // namespace

v1::RecordBatch EncodeRecords(absl::Span<const Record> records) {
  v1::RecordBatch b;
  TextTable texts(b);
  uint64_t last_index = 0;
  b.set_start_base_us(records.empty() ? 0 : records.front().start_us);
  for (const Record& r : records) {
    b.add_index_delta(static_cast<int64_t>(r.index - last_index));
    last_index = r.index;
    b.add_outcome(static_cast<v1::Outcome>(r.outcome));
    b.add_status(static_cast<uint32_t>(r.status));
    b.add_start_delta_us(r.start_us - b.start_base_us());
    b.add_duration_us(static_cast<uint64_t>(r.duration_us));
    b.add_body_bytes(static_cast<uint64_t>(r.body_bytes));
    b.add_error_ref(texts.Ref(r.error));
    b.add_dns_us_plus1(Plus1(r.dns_us));
    b.add_connect_us_plus1(Plus1(r.connect_us));
    b.add_tls_us_plus1(Plus1(r.tls_us));
    b.add_first_byte_us_plus1(Plus1(r.first_byte_us));
    b.add_wire_bytes_plus1(Plus1(r.wire_bytes));
    b.add_redirects_plus1(static_cast<uint32_t>(Plus1(r.redirects)));
    b.add_remote_address_ref(texts.Ref(r.remote_address));
    b.add_http_version_ref(texts.Ref(r.http_version));
    b.add_tls_version_ref(texts.Ref(r.tls_version));
  }
  ClearUntoldColumns(b);
  return b;
}

absl::StatusOr<std::vector<Record>> DecodeRecords(const v1::RecordBatch& b) {
  if (const absl::Status s = CheckLengths(b); !s.ok()) return s;
  std::vector<Record> records(static_cast<size_t>(b.index_delta_size()));
  uint64_t index = 0;
  size_t text_bytes = 0;
  for (int i = 0; i < b.index_delta_size(); ++i) {
    Record& r = records[static_cast<size_t>(i)];
    index = Add(index, b.index_delta(i));
    r.index = index;
    if (const absl::Status s = DecodeNumbers(b, i, r); !s.ok()) return s;
    if (const absl::Status s = DecodeTexts(b, i, r); !s.ok()) return s;
    text_bytes +=
        r.error.size() + r.remote_address.size() + r.http_version.size() + r.tls_version.size();
    if (text_bytes > kMaxBatchTextBytes) {
      return absl::InvalidArgumentError(
          fmt::format("record batch: more than {} MiB of texts", kMaxBatchTextBytes >> 20));
    }
  }
  return records;
}

}  // namespace fetchbench
