#include "common/record_numbers.h"

namespace fetchbench {
namespace {

bool IsFigure(int64_t value) { return value >= 0 && value < kFigureLimit; }

bool IsFigureOrNotTold(int64_t value) { return value == kNotTold || IsFigure(value); }

bool IsStatusOf(int64_t outcome, int64_t status) {
  const bool answered = outcome == static_cast<int64_t>(Outcome::kStatus);
  return status >= (answered ? 100 : 0) && status <= 999;
}

std::string_view FirstOutOfRange(const ToldNumbers& n) {
  if (n.outcome <= 0 || n.outcome >= kOutcomeCount) return "outcome";
  if (!IsStatusOf(n.outcome, n.status)) return "status";
  if (n.start_us <= -kStartLimitUs || n.start_us >= kStartLimitUs) return "start_us";
  if (!IsFigure(n.duration_us)) return "duration_us";
  if (!IsFigureOrNotTold(n.dns_us)) return "dns_us";
  if (!IsFigureOrNotTold(n.connect_us)) return "connect_us";
  if (!IsFigureOrNotTold(n.tls_us)) return "tls_us";
  if (!IsFigureOrNotTold(n.first_byte_us)) return "first_byte_us";
  if (!IsFigure(n.body_bytes)) return "body_bytes";
  if (!IsFigureOrNotTold(n.wire_bytes)) return "wire_bytes";
  if (n.redirects < kNotTold || n.redirects >= kRedirectsLimit) return "redirects";
  return {};
}

}  // namespace

std::string_view TakeNumbers(const ToldNumbers& told, Record& record) {
  const std::string_view wrong = FirstOutOfRange(told);
  if (!wrong.empty()) return wrong;
  record.outcome = static_cast<Outcome>(told.outcome);
  record.status = static_cast<int>(told.status);
  record.start_us = told.start_us;
  record.duration_us = told.duration_us;
  record.dns_us = told.dns_us;
  record.connect_us = told.connect_us;
  record.tls_us = told.tls_us;
  record.first_byte_us = told.first_byte_us;
  record.body_bytes = told.body_bytes;
  record.wire_bytes = told.wire_bytes;
  record.redirects = static_cast<int>(told.redirects);
  return {};
}

}  // namespace fetchbench
