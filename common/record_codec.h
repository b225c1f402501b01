#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/record.h"
#include "fetchbench/v1/record.pb.h"

namespace fetchbench {

// Bounds of a batch from a peer: a text that many records refer to is there once in the message,
// and many times when it is unpacked.
inline constexpr int kMaxBatchRecords = 16'384;
inline constexpr size_t kMaxBatchTextBytes = 32 << 20;

// Packs records into columns (see record.proto). A batch of 1,000 costs below 64 bytes a record
// beside its texts.
v1::RecordBatch EncodeRecords(absl::Span<const Record> records);

// Unpacks and checks a batch from a peer that is not trusted: column lengths, references, and the
// numbers by record_numbers.h. InvalidArgument names the first column that is wrong, or the first
// record and its number.
absl::StatusOr<std::vector<Record>> DecodeRecords(const v1::RecordBatch& batch);

}  // namespace fetchbench
