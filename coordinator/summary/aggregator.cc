#include "coordinator/summary/aggregator.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fetchbench::coordinator {
namespace {

// Times come from peers: keep sums away from the ends of int64_t.
constexpr int64_t kLatestUs = int64_t{1} << 60;

bool IsTimed(const Record& record) {
  return record.outcome != Outcome::kInvalidUrl && record.start_us > 0;
}

bool IsOk(const Record& record) {
  return record.outcome == Outcome::kStatus && record.status >= 200 && record.status <= 299;
}

DurationStats StatsOf(const Histogram& h) {
  DurationStats stats;
  stats.count = h.count();
  stats.mean_us = h.Mean();
  stats.min_us = h.min();
  stats.p50_us = h.Quantile(0.5);
  stats.p90_us = h.Quantile(0.9);
  stats.p99_us = h.Quantile(0.99);
  stats.p999_us = h.Quantile(0.999);
  stats.max_us = h.max();
  return stats;
}

}  // namespace

Aggregator::Aggregator(int64_t timeout_us, Pauses pauses)
    : timeout_us_(timeout_us), pauses_(std::move(pauses)) {}

void Aggregator::Add(const Record& record) {
  const auto outcome = static_cast<size_t>(record.outcome);
  ++outcomes_[outcome < outcomes_.size() ? outcome : 0];
  const auto body = static_cast<uint64_t>(std::max<int64_t>(record.body_bytes, 0));
  body_bytes_ += body;
  if (IsOk(record)) ok_body_bytes_ += body;
  if (record.wire_bytes >= 0) {
    wire_bytes_ += static_cast<uint64_t>(record.wire_bytes);
    wire_told_ = true;
  }
  if (record.redirects > 0) redirects_ += static_cast<uint64_t>(record.redirects);
  if (record.outcome == Outcome::kStatus) {
    AddStatus(record);
  } else {
    ++classes_.exceptions;
  }
  if (IsTimed(record)) AddTimes(record);
}

void Aggregator::AddStatus(const Record& record) {
  const int code = std::clamp(record.status, 0, kStatusCodes - 1);
  ++status_codes_[static_cast<size_t>(code)];
  switch (code / 100) {
    case 2:
      ++classes_.ok;
      break;
    case 3:
      ++classes_.redirect;
      break;
    case 4:
      ++classes_.client_error;
      break;
    case 5:
      ++classes_.server_error;
      break;
    default:
      ++classes_.other_status;
  }
}

void Aggregator::AddTimes(const Record& record) {
  const int64_t wall_start = std::min(record.start_us, kLatestUs);
  const int64_t duration = std::clamp<int64_t>(record.duration_us, 0, kLatestUs);
  const int64_t wall_end = wall_start + duration;
  const int64_t start = pauses_.LeaveOut(wall_start);
  const int64_t end = pauses_.LeaveOut(wall_end);
  const bool first = all_.count() == 0;
  wall_start_us_ = first ? wall_start : std::min(wall_start_us_, wall_start);
  wall_end_us_ = std::max(wall_end_us_, wall_end);
  first_start_us_ = first ? start : std::min(first_start_us_, start);
  last_end_us_ = first ? end : std::max(last_end_us_, end);
  ends_.Add(end);
  all_.Add(duration);
  if (record.outcome != Outcome::kStatus) {
    failed_.Add(duration);
  } else {
    (IsOk(record) ? ok_ : answered_).Add(duration);
  }
  if (timeout_us_ > 0 && duration >= timeout_us_) overshoot_.Add(duration - timeout_us_);
}

Measured Aggregator::Result() const {
  Measured m;
  m.total_urls = classes_.Total();
  m.timed_urls = all_.count();
  m.classes = classes_;
  m.outcomes = outcomes_;
  for (size_t code = 0; code < status_codes_.size(); ++code) {
    if (status_codes_[code] > 0) m.status_codes[static_cast<int>(code)] = status_codes_[code];
  }
  m.all = StatsOf(all_);
  m.ok = StatsOf(ok_);
  m.answered = StatsOf(answered_);
  m.failed = StatsOf(failed_);
  m.overshoot = StatsOf(overshoot_);
  m.body_bytes = body_bytes_;
  if (wire_told_) m.wire_bytes = wire_bytes_;
  m.redirects = redirects_;
  const auto ok = static_cast<double>(classes_.ok);
  if (classes_.ok > 0) m.mean_ok_body_bytes = static_cast<double>(ok_body_bytes_) / ok;
  if (m.total_urls > 0) m.ok_fraction = ok / static_cast<double>(m.total_urls);
  if (m.timed_urls == 0) return m;
  m.first_start_us = wall_start_us_;
  m.time_us = last_end_us_ - first_start_us_;
  m.wall_us = wall_end_us_ - wall_start_us_;
  m.time_to_99_us = std::min(ends_.TimeOf(0.99), last_end_us_) - first_start_us_;
  if (m.time_us > 0) {
    m.mean_in_flight = all_.sum() / static_cast<double>(m.time_us);
    m.ok_per_second = ok * 1e6 / static_cast<double>(m.time_us);
  }
  return m;
}

}  // namespace fetchbench::coordinator
