#include "coordinator/verify/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace fetchbench::coordinator {
namespace {

bool IsTimeout(Outcome outcome) {
  return outcome == Outcome::kDnsTimeout || outcome == Outcome::kConnectTimeout ||
         outcome == Outcome::kTimeoutBeforeHeaders || outcome == Outcome::kTimeoutInBody;
}

template <typename T>
bool Among(const std::vector<T>& allowed, const T& value) {
  return std::ranges::find(allowed, value) != allowed.end();
}

std::string Observed(const Record& record) {
  return record.outcome == Outcome::kStatus ? fmt::format("{}", record.status)
                                            : std::string(OutcomeName(record.outcome));
}

std::string Expected(const Behaviour& b) {
  std::vector<std::string> names;
  for (const Outcome outcome : b.outcomes) {
    if (outcome != Outcome::kStatus) names.emplace_back(OutcomeName(outcome));
  }
  for (const int64_t status : b.status) names.push_back(fmt::format("{}", status));
  return fmt::format("{}", fmt::join(names, " or "));
}

bool EndsAsExpected(const Behaviour& b, const Record& record) {
  if (!Among(b.outcomes, record.outcome)) return false;
  return record.outcome != Outcome::kStatus || Among(b.status, int64_t{record.status});
}

void JudgeEnd(const Behaviour& b, const Record& record, int64_t timeout_us,
              std::vector<Finding>& findings) {
  if (!EndsAsExpected(b, record)) {
    std::string text = fmt::format("{}, expected {}", Observed(record), Expected(b));
    if (!record.error.empty()) text += fmt::format(" ({})", record.error);
    const bool at_deadline = record.duration_us > timeout_us - kDeadlineSlackUs;
    findings.push_back(
        {Observed(record), std::move(text), IsTimeout(record.outcome) && at_deadline});
    return;
  }
  if (record.outcome == Outcome::kStatus && !b.body_bytes.empty() &&
      !Among(b.body_bytes, record.body_bytes)) {
    findings.push_back(
        {"body_bytes", fmt::format("{} bytes of body, expected {}", record.body_bytes,
                                   fmt::join(b.body_bytes, " or "))});
  }
  if (record.redirects != kNotTold && !b.redirects.empty() &&
      !Among(b.redirects, int64_t{record.redirects})) {
    findings.push_back({"redirects", fmt::format("{} redirects, expected {}", record.redirects,
                                                 fmt::join(b.redirects, " or "))});
  }
}

// By the target's own clock, and by when the origin saw its connections close: a program can say
// that it gave up and go on.
void JudgeDeadline(const Record& record, const Sighting& seen, int64_t timeout_us,
                   std::vector<Finding>& findings) {
  if (record.duration_us > timeout_us + kDeadlineSlackUs) {
    findings.push_back({"late",
                        fmt::format("took {} ms, the deadline was {} ms", record.duration_us / 1000,
                                    timeout_us / 1000),
                        true});
  }
  if (!IsTimeout(record.outcome)) return;
  const int64_t deadline_us = record.start_us + timeout_us;
  int64_t last_us = 0;
  for (const int64_t closed_us : seen.closed_at_us) last_us = std::max(last_us, closed_us);
  if (seen.closes < seen.connections) {
    findings.push_back({"open_after_timeout", "its connection was still open at the end", true});
  } else if (last_us > deadline_us + kDeadlineSlackUs) {
    findings.push_back({"open_after_timeout",
                        fmt::format("its connection closed {} ms after the deadline",
                                    (last_us - deadline_us) / 1000),
                        true});
  }
}

void JudgeHeader(const SeenRequest& request, const std::string& name, const std::string& expected,
                 const std::string& token, std::vector<Finding>& findings) {
  const auto it = request.headers.find(name);
  const std::string value = it == request.headers.end() ? std::string() : it->second;
  if (value == expected) return;
  Finding finding{token, it == request.headers.end() ? fmt::format("sent no {}", name)
                                                     : fmt::format("sent {}: {}", name, value)};
  if (!Among(findings, finding)) findings.push_back(std::move(finding));
}

// The same request again, where no redirect led back to it.
void JudgeRetries(const Behaviour& b, const Sighting& seen, std::vector<Finding>& findings) {
  if (b.family == "redirect") return;
  std::map<std::string, int> times;
  int most = 0;
  for (const SeenRequest& request : seen.requests) most = std::max(most, ++times[request.target]);
  if (most > 1) findings.push_back({"retried", fmt::format("asked {} times for the same", most)});
}

}  // namespace

std::vector<Finding> Judge(const Behaviour& behaviour, const std::optional<Record>& record,
                           const Sighting& seen, const PolicyAsked& asked) {
  if (!record) return {{"no_record", "the run ended without a record of it"}};
  std::vector<Finding> findings;
  JudgeEnd(behaviour, *record, asked.timeout_us, findings);
  JudgeDeadline(*record, seen, asked.timeout_us, findings);
  JudgeRetries(behaviour, seen, findings);
  for (const SeenRequest& request : seen.requests) {
    JudgeHeader(request, "user-agent", asked.user_agent, "user_agent", findings);
    JudgeHeader(request, "accept-encoding", "identity", "accept_encoding", findings);
    if (request.method == "GET") continue;
    Finding finding{"method", fmt::format("sent a {} request", request.method)};
    if (!Among(findings, finding)) findings.push_back(std::move(finding));
  }
  return findings;
}

TwoLooks Compare(std::vector<Finding> first, std::vector<Finding> second) {
  const auto has = [](const std::vector<Finding>& findings, const std::string& token) {
    return std::ranges::any_of(findings, [&token](const Finding& f) { return f.token == token; });
  };
  TwoLooks looks;
  for (Finding& finding : first) {
    const bool stays = !finding.by_deadline || has(second, finding.token);
    (stays ? looks.stay : looks.once).push_back(std::move(finding));
  }
  const bool none_stay = looks.stay.empty();
  for (Finding& finding : second) {
    if (has(looks.stay, finding.token)) continue;
    const bool stays = !finding.by_deadline || none_stay;
    (stays ? looks.stay : looks.once).push_back(std::move(finding));
  }
  return looks;
}

}  // namespace fetchbench::coordinator
