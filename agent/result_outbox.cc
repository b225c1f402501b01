#include "agent/result_outbox.h"

#include <fmt/format.h>

#include <utility>

#include "common/record_codec.h"

namespace fetchbench::agent {
namespace {

// An upper estimate of a packed record beside its texts.
constexpr size_t kBytesPerRecord = 64;

size_t EstimatedBytes(const Record& r) {
  return kBytesPerRecord + r.error.size() + r.remote_address.size() + r.http_version.size() +
         r.tls_version.size();
}

}  // namespace

void ResultOutbox::Add(Record record, uint64_t lease_id, SteadyTime now) {
  const size_t bytes = EstimatedBytes(record);
  if (!gathering_.empty() && gathering_bytes_ + bytes > limits_.batch_bytes) Flush();
  if (gathering_.empty()) gathering_since_ = now;
  gathering_.push_back(std::move(record));
  gathering_bytes_ += bytes;
  if (gathering_leases_.empty() || gathering_leases_.back().lease_id != lease_id) {
    gathering_leases_.push_back({lease_id, 0});
  }
  ++gathering_leases_.back().count;
  ++records_;
  if (gathering_.size() >= limits_.batch_records) Flush();
}

void ResultOutbox::Tick(SteadyTime now) {
  if (!gathering_.empty() && now - gathering_since_ >= limits_.batch_age) Flush();
}

void ResultOutbox::Flush() {
  if (gathering_.empty()) return;
  Stored& stored = batches_.emplace_back();
  stored.batch.set_seq(++last_seq_);
  *stored.batch.mutable_records() = EncodeRecords(gathering_);
  stored.bytes = gathering_bytes_;
  stored.leases = std::move(gathering_leases_);
  bytes_ += gathering_bytes_;
  gathering_.clear();
  gathering_leases_.clear();
  gathering_bytes_ = 0;
  if (bytes_ > limits_.high_bytes) stalled_ = true;
}

const v1::Batch* ResultOutbox::NextUnsent() {
  if (sent_seq_ == last_seq_) return nullptr;
  ++sent_seq_;
  return &batches_[sent_seq_ - acked_seq_ - 1].batch;
}

absl::Status ResultOutbox::Ack(
    uint64_t seq, const std::function<void(uint64_t lease_id, uint64_t count)>& committed) {
  if (seq > last_seq_) {
    return absl::InvalidArgumentError(
        fmt::format("batch {} is acknowledged, but the last one was {}", seq, last_seq_));
  }
  while (acked_seq_ < seq) {
    for (const LeaseCount& lease : batches_.front().leases) committed(lease.lease_id, lease.count);
    bytes_ -= batches_.front().bytes;
    batches_.pop_front();
    ++acked_seq_;
  }
  if (sent_seq_ < acked_seq_) sent_seq_ = acked_seq_;
  if (bytes_ <= limits_.low_bytes) stalled_ = false;
  return absl::OkStatus();
}

}  // namespace fetchbench::agent
