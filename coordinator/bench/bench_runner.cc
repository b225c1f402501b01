#include "coordinator/bench/bench_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/ui/human_numbers.h"

namespace fetchbench::coordinator {
namespace {

std::string FailureOf(const RunResult& result) {
  if (!result.error.ok()) return std::string(result.error.message());
  if (!result.summary) return "the run gave no summary";
  if (!result.summary->ledger.Balanced()) return "the ledger does not balance";
  const auto crashed =
      result.summary->measured.outcomes[static_cast<size_t>(Outcome::kClientCrashed)];
  if (crashed > 0) {
    return fmt::format("the target crashed: {} URLs client_crashed; {}", crashed,
                       result.summary->reason);
  }
  if (result.code != ExitCode::kDone) {
    return result.summary->reason.empty()
               ? fmt::format("the run ended with exit code {}", static_cast<int>(result.code))
               : result.summary->reason;
  }
  return "";
}

}  // namespace

BenchRunner::BenchRunner(std::vector<TargetInfo> targets, const RunOptions& run, const Clock& clock,
                         std::function<void(const std::string&)> say)
    : run_(run),
      clock_(clock),
      say_(std::move(say)),
      given_up_(targets.size(), false),
      last_seconds_(targets.size(), 0) {
  for (TargetInfo& target : targets) rows_.push_back({std::move(target), {}});
}

std::vector<BenchRow> BenchRunner::Run(const std::vector<BenchStep>& steps, const RunOne& run_one) {
  for (const BenchStep& step : steps) rounds_ = std::max(rounds_, step.round);
  for (size_t i = 0; i < steps.size() && !interrupted_; ++i) {
    if (given_up_[steps[i].target]) continue;
    note_ = Note(steps[i], i + 1, steps.size());
    if (const double left = SecondsLeft(steps, i); left > 0) {
      note_ += fmt::format(", about {} left", HumanSeconds(left));
    }
    say_(fmt::format("{}: {}", rows_[steps[i].target].target.name, note_));
    DoStep(steps[i], run_one);
  }
  return std::move(rows_);
}

std::string BenchRunner::Note(const BenchStep& step, size_t number, size_t steps) const {
  const std::string round =
      step.round == 0 ? "warm-up" : fmt::format("round {} of {}", step.round, rounds_);
  return fmt::format("{}, run {} of {}", round, number, steps);
}

// A run to come takes as long as that target's last one; one of which nothing is known, the mean of
// those that are. Warm-ups tell nothing.
double BenchRunner::SecondsLeft(const std::vector<BenchStep>& steps, size_t from) const {
  double known = 0;
  size_t count = 0;
  for (const double seconds : last_seconds_) {
    known += seconds;
    count += seconds > 0 ? 1 : 0;
  }
  if (count == 0) return 0;
  double left = 0;
  for (size_t i = from; i < steps.size(); ++i) {
    if (given_up_[steps[i].target] || steps[i].round == 0) continue;
    const double last = last_seconds_[steps[i].target];
    left += last > 0 ? last : known / static_cast<double>(count);
  }
  return left;
}

void BenchRunner::Fail(const BenchStep& step, std::string reason, std::string folder) {
  say_(fmt::format("{} failed: {}", rows_[step.target].target.name, reason));
  BenchRound round;
  round.round = step.round;
  round.folder = std::move(folder);
  round.failure = std::move(reason);
  rows_[step.target].rounds.push_back(std::move(round));
  if (step.round == 0) given_up_[step.target] = true;
}

void BenchRunner::DoStep(const BenchStep& step, const RunOne& run_one) {
  RunOptions options = run_;
  options.target = rows_[step.target].target;
  options.concurrency = options.target.concurrency;
  if (step.round == 0) options.limit = std::min(options.limit, kWarmUpUrls);
  RunPresentation presentation;
  presentation.quiet = true;
  presentation.title_note = note_;
  const SteadyTime begin = clock_.Now();
  RunResult result = run_one(options, std::move(presentation));
  if (result.code == ExitCode::kInterrupted) {
    interrupted_ = true;
    return;
  }
  if (std::string failure = FailureOf(result); !failure.empty()) {
    Fail(step, std::move(failure), std::move(result.folder));
    return;
  }
  if (step.round == 0) return;
  last_seconds_[step.target] = std::chrono::duration<double>(clock_.Now() - begin).count();
  BenchRound round;
  round.round = step.round;
  round.summary = std::move(result.summary);
  round.folder = std::move(result.folder);
  rows_[step.target].rounds.push_back(std::move(round));
}

}  // namespace fetchbench::coordinator
