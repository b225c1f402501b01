#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/record.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

struct OutboxLimits {
  size_t batch_records = 512;
  size_t batch_bytes = 256 << 10;
  std::chrono::milliseconds batch_age{100};
  // Above the high mark the agent stops feeding its target, until the low mark. What the target was
  // given before still comes in, so the outbox holds the high mark and the records of the URLs then
  // open at most.
  size_t high_bytes = 8 << 20;
  size_t low_bytes = 4 << 20;
};

// Records on their way to the coordinator: gathered into numbered batches, kept until acknowledged,
// sent again after a reconnect. Pure; one thread.
class ResultOutbox {
 public:
  // The first batch gets `last_committed_seq` + 1.
  ResultOutbox(OutboxLimits limits, uint64_t last_committed_seq)
      : limits_(limits), last_seq_(last_committed_seq), acked_seq_(last_committed_seq) {}

  // The first batch gets `last_committed_seq` + 1. Only before there was a record.
  void StartAfter(uint64_t last_committed_seq) {
    last_seq_ = acked_seq_ = sent_seq_ = last_committed_seq;
  }

  void Add(Record record, uint64_t lease_id, SteadyTime now);

  // Closes the batch that is being gathered when it is old enough.
  void Tick(SteadyTime now);
  // Closes it whatever its age.
  void Flush();

  // The next batch to send, or nullptr. Stays valid until it is acknowledged.
  const v1::Batch* NextUnsent();
  // A new stream: everything not acknowledged is sent again.
  void Rewind() { sent_seq_ = acked_seq_; }

  // Forgets every batch up to and including `seq`; tells how many records of which lease they held.
  // A number already acknowledged changes nothing; InvalidArgument for one that was never used.
  absl::Status Ack(uint64_t seq,
                   const std::function<void(uint64_t lease_id, uint64_t count)>& committed);

  // True from the high mark until the low mark.
  bool stalled() const { return stalled_; }
  bool empty() const { return batches_.empty() && gathering_.empty(); }
  uint64_t last_seq() const { return last_seq_; }
  uint64_t records() const { return records_; }
  size_t bytes() const { return bytes_; }

 private:
  struct LeaseCount {
    uint64_t lease_id = 0;
    uint64_t count = 0;
  };
  struct Stored {
    v1::Batch batch;
    size_t bytes = 0;
    std::vector<LeaseCount> leases;
  };

  const OutboxLimits limits_;
  std::deque<Stored> batches_;  // closed, not acknowledged; consecutive numbers
  std::vector<Record> gathering_;
  std::vector<LeaseCount> gathering_leases_;
  size_t gathering_bytes_ = 0;
  SteadyTime gathering_since_{};
  uint64_t last_seq_;
  uint64_t acked_seq_;
  uint64_t sent_seq_ = acked_seq_;
  uint64_t records_ = 0;
  size_t bytes_ = 0;
  bool stalled_ = false;
};

}  // namespace fetchbench::agent
