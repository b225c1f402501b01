#pragma once

#include <array>
#include <cstdint>

#include "common/histogram.h"
#include "common/record.h"
#include "coordinator/summary/pauses.h"
#include "coordinator/summary/summary.h"
#include "coordinator/summary/timeline.h"

namespace fetchbench::coordinator {

// Sums up records one by one, in any order and in bounded memory (below 1 MiB); each committed
// record exactly once. Belongs to one thread. Over 2 million records a second on one core.
//
// A record is *timed* when a fetch was started: every one except outcome invalid_url (nothing was
// sent, whoever noticed it) and those without a start time. `cancelled` records are timed; URLs
// never started have no record and are in no figure but the ledger.
//
//   total_urls      records
//   time            over timed records: max(start + duration) - min(start), pauses left out
//   wall            the same with the pauses
//   time_to_99      from min(start) until 99 % of the timed records had ended, to one bin of
//                   Timeline
//   mean_in_flight  sum of durations / time
//   all, ok, answered, failed
//                   durations of the timed records: of all; outcome `status` with 2xx; outcome
//                   `status` with another code; every other outcome
//   overshoot       duration - timeout of the timed records with duration >= timeout
//   ok_per_second   2xx / time;  ok_fraction  2xx / total_urls
//   mean_ok_body_bytes   body bytes of the 2xx / 2xx
//   classes         the original's columns. A failure that has a status beside it (a body cut short
//                   after 200) is an exception.
//   body_bytes      of all records; wire_bytes and redirects of those that tell
class Aggregator {
 public:
  // `timeout_us` <= 0: no overshoot is measured.
  explicit Aggregator(int64_t timeout_us, Pauses pauses = {});

  void Add(const Record& record);
  // Nothing of the run went on meanwhile. No record of after it has been added yet.
  void AddPause(Pause pause) { pauses_.Add(pause); }

  Measured Result() const;

  // Cheap figures for the live display, any time.
  uint64_t total_urls() const { return classes_.Total(); }
  uint64_t body_bytes() const { return body_bytes_; }
  const StatusClasses& classes() const { return classes_; }
  const OutcomeCounts& outcomes() const { return outcomes_; }
  const Histogram& durations_us() const { return all_; }  // of the timed records
  // Quantile of all timed durations; about 20 microseconds a call.
  int64_t DurationQuantileUs(double q) const { return all_.Quantile(q); }

 private:
  static constexpr int kStatusCodes = 1000;

  void AddStatus(const Record& record);
  void AddTimes(const Record& record);

  int64_t timeout_us_;
  Pauses pauses_;
  StatusClasses classes_;
  OutcomeCounts outcomes_{};
  std::array<uint64_t, kStatusCodes> status_codes_{};
  Histogram all_;
  Histogram ok_;
  Histogram answered_;
  Histogram failed_;
  Histogram overshoot_;
  Timeline ends_;
  int64_t first_start_us_ = 0;  // these two without pauses
  int64_t last_end_us_ = 0;
  int64_t wall_start_us_ = 0;
  int64_t wall_end_us_ = 0;
  uint64_t body_bytes_ = 0;
  uint64_t ok_body_bytes_ = 0;
  uint64_t wire_bytes_ = 0;
  bool wire_told_ = false;
  uint64_t redirects_ = 0;
};

}  // namespace fetchbench::coordinator
