#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/histogram.h"
#include "common/outcome.h"
#include "common/record.h"

namespace fetchbench::agent {

// What the records of a run come to. Memory is bounded by the histogram's.
struct RecordTally {
  std::array<uint64_t, kOutcomeCount> outcomes{};
  Histogram durations_us;
  uint64_t body_bytes = 0;

  void Add(const Record& record) {
    ++outcomes[static_cast<size_t>(record.outcome)];
    body_bytes += static_cast<uint64_t>(record.body_bytes);
    // Nothing was sent for an invalid URL.
    if (record.outcome != Outcome::kInvalidUrl) durations_us.Add(record.duration_us);
  }
  void Merge(const RecordTally& other) {
    for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += other.outcomes[i];
    durations_us.Merge(other.durations_us);
    body_bytes += other.body_bytes;
  }
};

// What a run came to until now; every figure only rises.
struct RunCounts {
  RecordTally records;
  uint64_t urls_started = 0;  // given to the target
  std::chrono::microseconds stalled{0};
  uint64_t target_user_us = 0;
  uint64_t target_system_us = 0;

  void Merge(const RunCounts& other) {
    records.Merge(other.records);
    urls_started += other.urls_started;
    stalled += other.stalled;
    target_user_us += other.target_user_us;
    target_system_us += other.target_system_us;
  }
};

// What happened on this agent since it was started. On the loop.
struct AgentCounts {
  uint64_t runs_finished = 0;
  uint64_t runs_failed = 0;
  uint64_t runs_cancelled = 0;
  uint64_t runs_dropped = 0;  // nobody came for them, or they wanted more memory than there is
  uint64_t reconnects = 0;    // streams that took over a run that was under way
  uint64_t streams_refused = 0;
  uint64_t memory_hangups = 0;  // MemoryWatch hung up on everybody
  uint32_t builds_active = 0;
  uint64_t builds_done = 0;
  uint64_t builds_failed = 0;
  std::chrono::microseconds build_time{0};  // of builds that have ended
  RunCounts past;                           // of runs that are over
};

}  // namespace fetchbench::agent
