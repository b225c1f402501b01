#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "coordinator/run/lease_book.h"

namespace fetchbench::coordinator {

// For how long each agent has given no record, though it had URLs to fetch and was heard. Pure; not
// thread-safe.
//
// A fetch is over at its timeout, so a live target gives a record within each timeout, and an agent
// ends one that does not for 30 s more (RunLimits::hang_grace there). One that does neither keeps
// its URLs from everybody.
class RecordWatch {
 public:
  // Between two looks no more than this counts, so that a coordinator that stood still itself does
  // not find all of them silent.
  static constexpr std::chrono::milliseconds kLongestStep{1'000};

  explicit RecordWatch(size_t agents) : silence_(agents) {}

  // It gave a record.
  void Heard(AgentIndex agent) { silence_[agent] = {}; }
  // Time passes, for those that owe a record; the silence of the others is over.
  void Pass(SteadyTime now, const std::function<bool(AgentIndex)>& owes) {
    const SteadyTime::duration step =
        looked_at_ ? std::min<SteadyTime::duration>(now - *looked_at_, kLongestStep)
                   : SteadyTime::duration(0);
    looked_at_ = now;
    for (AgentIndex i = 0; i < silence_.size(); ++i) {
      silence_[i] = owes(i) ? silence_[i] + step : SteadyTime::duration(0);
    }
  }

  size_t size() const { return silence_.size(); }
  SteadyTime::duration silence(AgentIndex agent) const { return silence_[agent]; }

 private:
  std::vector<SteadyTime::duration> silence_;
  std::optional<SteadyTime> looked_at_;
};

}  // namespace fetchbench::coordinator
