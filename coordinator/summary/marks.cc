#include "coordinator/summary/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace fetchbench::coordinator {
namespace {

// A short run is over before a progress report (one a second) can have seen all slots taken.
constexpr int64_t kShortestJudgedUs = 5'000'000;

std::string Because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

double Ms(int64_t us) { return static_cast<double>(us) / 1000.0; }

// The agent for which `figure` is largest; null without agents.
template <typename Figure>
const AgentSummary* Worst(const Summary& s, Figure figure) {
  const auto worst = std::max_element(
      s.agents.begin(), s.agents.end(),
      [&](const AgentSummary& a, const AgentSummary& b) { return figure(a) < figure(b); });
  return worst == s.agents.end() ? nullptr : &*worst;
}

// The end of what a target wrote to standard error, on one line.
std::string LastWords(std::string text) {
  constexpr size_t kMaxLastWords = 300;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kMaxLastWords) {
    text.erase(0, text.size() - kMaxLastWords);
    text.erase(0, text.find('\n') == std::string::npos ? 0 : text.find('\n') + 1);
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Who is beside the target and used most, so that people know where to look.
std::string MostBusy(const Summary& s) {
  const std::vector<std::pair<int64_t, std::string_view>> programs{
      {s.origin ? s.origin->cpu_us : 0, "the origin"},
      {s.cost.agent_cpu_us, "the agent"},
      {s.cost.engine_cpu_us, "the container engine"},
      {s.cost.coordinator_cpu_us, "the coordinator"}};
  const auto& [cpu_us, name] = *std::max_element(programs.begin(), programs.end());
  if (cpu_us <= 0) return "";
  return fmt::format("; over the run {} used most of ours, {:.2f} s", name,
                     static_cast<double>(cpu_us) / 1e6);
}

class Marker {
 public:
  explicit Marker(const Summary& summary) : s_(summary) {}

  std::vector<Mark> Find() && {
    MarkEnd();
    MarkLedger();
    MarkOriginGone();
    MarkOriginLateness();
    MarkHosts();
    MarkConcurrency();
    MarkOriginCounts();
    MarkTarget();
    return std::move(marks_);
  }

 private:
  void Add(std::string name, std::string text) {
    marks_.push_back({std::move(name), std::move(text)});
  }

  void MarkEnd();
  void MarkLedger();
  void MarkOriginGone();
  void MarkOriginLateness();
  void MarkHosts();
  void MarkConcurrency();
  void MarkOriginCounts();
  void MarkTarget();

  const Summary& s_;
  std::vector<Mark> marks_;
};

void Marker::MarkEnd() {
  if (s_.end == RunEnd::kInterrupted) {
    Add("partial", fmt::format("interrupted after {} of {} URLs{}", s_.ledger.recorded,
                               s_.ledger.total, Because(s_.reason)));
  } else if (s_.end == RunEnd::kDuration) {
    Add("partial", fmt::format("the run's duration was reached after {} of {} URLs",
                               s_.ledger.recorded, s_.ledger.total));
  } else if (s_.end == RunEnd::kIncomplete) {
    Add("incomplete", fmt::format("{} of {} URLs have a record{}", s_.ledger.recorded,
                                  s_.ledger.total, Because(s_.reason)));
  }
  if (s_.degraded) {
    const auto lost = std::count_if(s_.agents.begin(), s_.agents.end(),
                                    [](const AgentSummary& a) { return a.lost; });
    Add("degraded", fmt::format("{} of {} agents lost, {} URLs asked for again, {} second records "
                                "dropped{}",
                                lost, s_.agents.size(), s_.ledger.requested_again,
                                s_.ledger.duplicates_dropped, Because(s_.degraded_by)));
  }
  if (s_.resumed > 0) {
    Add("resumed",
        fmt::format("resumed {} time{} after {:.1f} s without a coordinator in all, which `time` "
                    "leaves out; cost and the figures of agents and origin are those since then",
                    s_.resumed, s_.resumed == 1 ? "" : "s", Ms(s_.down_us) / 1000));
  }
}

void Marker::MarkLedger() {
  const Ledger& l = s_.ledger;
  if (!l.Balanced()) {
    const int64_t missing = l.Missing();
    Add("ledger_unbalanced",
        fmt::format("{} {} unaccounted for: {} in the list, {} recorded, {} never started",
                    std::abs(missing), missing > 0 ? "URLs are" : "records too many are", l.total,
                    l.recorded, l.never_started));
  } else if (s_.measured.total_urls != l.recorded) {
    Add("ledger_unbalanced", fmt::format("{} records were stored, but {} summed up", l.recorded,
                                         s_.measured.total_urls));
  }
}

void Marker::MarkOriginGone() {
  if (s_.origin_trouble.empty()) return;
  Add("origin_gone", "the simulated web was not there at the end, and failures may be its own: " +
                         s_.origin_trouble);
}

void Marker::MarkOriginLateness() {
  if (!s_.origin || s_.origin->lateness_p99_us <= kMaxOriginLatenessP99Us) return;
  Add("origin_late",
      fmt::format("the origin answered {:.1f} ms later than planned (p99; limit {:.0f} ms): it was "
                  "measured too",
                  Ms(s_.origin->lateness_p99_us), Ms(kMaxOriginLatenessP99Us)));
}

void Marker::MarkHosts() {
  const auto busy = [](const AgentSummary& a) { return a.other_cpu_busy_max_fraction; };
  if (const AgentSummary* a = Worst(s_, busy); a != nullptr && busy(*a) > kMaxOtherCpuBusy) {
    Add("other_cpu_busy",
        fmt::format("the CPU beside the target's was {:.0f} % busy in one second on {} (limit "
                    "{:.0f} %): the target may have waited for it{}",
                    busy(*a) * 100, a->name, kMaxOtherCpuBusy * 100, MostBusy(s_)));
  }
  const auto steal = [](const AgentSummary& a) { return a.steal_fraction; };
  if (const AgentSummary* a = Worst(s_, steal); a != nullptr && steal(*a) > kMaxSteal) {
    Add("steal", fmt::format("the hypervisor took {:.1f} % of the CPU time of {} (limit {:.0f} %)",
                             steal(*a) * 100, a->name, kMaxSteal * 100));
  }
  const auto stalled = [](const AgentSummary& a) { return a.stalled_us; };
  if (const AgentSummary* a = Worst(s_, stalled); a != nullptr && stalled(*a) > 0) {
    Add("stalled", fmt::format("feeding the target of {} stood still for {:.0f} ms because records "
                               "could not be sent on",
                               a->name, Ms(stalled(*a))));
  }
  const auto offset = [](const AgentSummary& a) { return std::abs(a.clock_offset_us); };
  if (const AgentSummary* a = Worst(s_, offset); a != nullptr && offset(*a) > kMaxClockOffsetUs) {
    Add("clock_offset",
        fmt::format("the clock of {} is {:.0f} ms {} ours (limit {:.0f} ms): its start times are "
                    "corrected by that, to within what a message takes",
                    a->name, Ms(offset(*a)), a->clock_offset_us > 0 ? "ahead of" : "behind",
                    Ms(kMaxClockOffsetUs)));
  }
}

void Marker::MarkConcurrency() {
  // Judged only where it could have been reached and seen. What agents say is about this session.
  const uint64_t wanted = s_.facts.concurrency;
  const uint64_t timed = s_.measured.timed_urls;
  const uint64_t timed_here = timed - std::min(timed, s_.recorded_earlier);
  if (wanted == 0 || timed_here < 2 * wanted) return;
  if (s_.measured.time_us < kShortestJudgedUs) return;
  uint64_t reached = 0;
  for (const AgentSummary& a : s_.agents) reached += a.most_in_flight;
  if (static_cast<double>(reached) >= kMinConcurrencyShare * static_cast<double>(wanted)) return;
  Add("concurrency_not_reached",
      fmt::format("at most {} of {} requests were in flight", reached, wanted));
}

// A client that counts an answer twice, or makes one up, says more of a code than the origin sent.
// One that loses answers says less than sent by more than its own failures explain. A 3xx is sent
// for every hop, so only the first test applies to it.
void Marker::MarkOriginCounts() {
  // Of a resumed run the origin has counted the last session only.
  if (!s_.origin || s_.resumed > 0) return;
  uint64_t sent = 0;
  uint64_t claimed = 0;
  for (const auto& [code, count] : s_.origin->responses) {
    if (code / 100 != 3) sent += count;
  }
  for (const auto& [code, count] : s_.measured.status_codes) {
    const auto at = s_.origin->responses.find(code);
    const uint64_t of_code = at == s_.origin->responses.end() ? 0 : at->second;
    if (code / 100 != 3) claimed += count;
    if (count <= of_code) continue;
    Add("origin_disagrees", fmt::format("the target reports status {} {} times, the origin sent it "
                                        "{} times",
                                        code, count, of_code));
    return;
  }
  const uint64_t explained = claimed + s_.measured.classes.exceptions + s_.ledger.requested_again +
                             s_.ledger.never_started;
  if (sent > explained) {
    Add("origin_disagrees",
        fmt::format("the origin sent {} final answers, the target reports {} and "
                    "{} failures",
                    sent, claimed, s_.measured.classes.exceptions));
  }
}

void Marker::MarkTarget() {
  uint64_t surplus = 0;
  for (const AgentSummary& a : s_.agents) surplus += a.surplus_lines;
  if (surplus > 0) {
    Add("surplus_lines",
        fmt::format("the target printed {} lines for URLs that it was not given or had answered",
                    surplus));
  }
  uint64_t unparsable = 0;
  for (const AgentSummary& a : s_.agents) unparsable += a.unparsable_lines;
  if (unparsable > 0) {
    Add("unparsable_lines",
        fmt::format("the target printed {} lines that are no records", unparsable));
  }
  for (const AgentSummary& a : s_.agents) {
    // A run that was cut short ends its targets by a signal: that is no fault of theirs.
    const bool stopped = s_.end == RunEnd::kInterrupted || s_.end == RunEnd::kDuration;
    if (!a.target_exit_code || *a.target_exit_code == 0 || stopped) continue;
    const int code = *a.target_exit_code;
    std::string text = fmt::format("target {} on {} ", s_.facts.target, a.name);
    text += code < 0 ? fmt::format("was ended by signal {}", -code)
                     : fmt::format("ended with exit code {}", code);
    if (const std::string words = LastWords(a.target_stderr); !words.empty()) {
      text += "; its last words: " + words;
    }
    Add("target_exit", std::move(text));
    break;
  }
  if (s_.end == RunEnd::kComplete && s_.invalid_lines == s_.ledger.total) {
    Add("no_url", fmt::format("no line of the list is a URL: all {} are recorded as invalid_url",
                              s_.invalid_lines));
  } else if (s_.measured.total_urls > 0 && s_.measured.classes.ok == 0) {
    Add("no_2xx", fmt::format("none of {} URLs was answered with 2xx", s_.measured.total_urls));
  }
}

}  // namespace

std::vector<Mark> FindMarks(const Summary& summary) { return Marker(summary).Find(); }

}  // namespace fetchbench::coordinator
