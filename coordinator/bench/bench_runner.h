#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/bench/bench_plan.h"
#include "coordinator/bench/bench_table.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/run_once.h"

namespace fetchbench::coordinator {

// URLs of a warm-up at most: it is for images, page cache and nothing else.
inline constexpr uint64_t kWarmUpUrls = 200;

// The steps of a benchmark, one after the other. A target whose warm-up fails is not tried again.
class BenchRunner {
 public:
  // `run` holds what all runs share. `say`: a line about each step, for people. All outlive it.
  BenchRunner(std::vector<TargetInfo> targets, const RunOptions& run, const Clock& clock,
              std::function<void(const std::string&)> say);

  // Rows in the order of the targets. Stops at an interruption; `interrupted` tells.
  std::vector<BenchRow> Run(const std::vector<BenchStep>& steps, const RunOne& run_one);
  bool interrupted() const { return interrupted_; }

 private:
  void DoStep(const BenchStep& step, const RunOne& run_one);
  std::string Note(const BenchStep& step, size_t number, size_t steps) const;
  double SecondsLeft(const std::vector<BenchStep>& steps, size_t from) const;
  void Fail(const BenchStep& step, std::string reason, std::string folder);

  std::vector<BenchRow> rows_;
  const RunOptions& run_;
  const Clock& clock_;
  std::function<void(const std::string&)> say_;
  std::vector<bool> given_up_;        // by target
  std::vector<double> last_seconds_;  // by target: of its last whole run; 0: none yet
  std::string note_;
  uint32_t rounds_ = 0;
  bool interrupted_ = false;
};

}  // namespace fetchbench::coordinator
