#include "coordinator/verify/target_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "coordinator/verify/record_reader.h"
#include "coordinator/verify/sighting.h"

namespace fetchbench::coordinator {
namespace {

// A connection that is still open so long after the last record is one that nobody cancelled.
constexpr std::chrono::milliseconds kLinger{1'000};
// Slow behaviours wait side by side, and a cold runtime is not swamped.
constexpr uint32_t kConcurrency = 64;
constexpr std::string_view kConformanceDomain = ".conformance.test";

// A list in the folder of runs, removed with the object.
class ListFile {
 public:
  ListFile(const std::string& folder, const std::vector<std::string>& urls)
      : path_(fmt::format("{}/verify-{}.urls", folder, getpid())) {
    std::error_code ignored;  // then the file cannot be written, which is said
    std::filesystem::create_directories(folder, ignored);
    std::ofstream file(path_, std::ios::trunc);
    for (const std::string& url : urls) file << url << '\n';
    file.close();
    ok_ = !file.fail();
  }
  ~ListFile() { unlink(path_.c_str()); }
  ListFile(const ListFile&) = delete;
  ListFile& operator=(const ListFile&) = delete;

  bool ok() const { return ok_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool ok_ = false;
};

struct Seen {
  std::vector<Sighting> sightings;  // as the behaviours that were asked for
  absl::Status status = absl::OkStatus();
};

// Coroutines take their arguments by value; what these point to outlives the run.
Task<> AskOrigin(OriginClient* origin, const std::vector<Behaviour>* behaviours, Seen* seen) {
  if (origin == nullptr) {
    seen->status = absl::FailedPreconditionError("there is no simulated web to ask");
    co_return;
  }
  for (const Behaviour& behaviour : *behaviours) {
    auto log = co_await origin->HostLog(behaviour.name + std::string(kConformanceDomain));
    if (!log.ok()) {
      seen->status = log.status();
      co_return;
    }
    auto sighting = ParseSighting(*log);
    if (!sighting.ok()) {
      seen->status = sighting.status();
      co_return;
    }
    seen->sightings.push_back(*std::move(sighting));
  }
}

struct OneRun {
  Summary summary;
  std::vector<std::optional<Record>> records;
};

// Unavailable and the like: the target cannot be run, and why.
absl::StatusOr<OneRun> RunList(RunOptions options, const std::vector<std::string>& urls,
                               RunPresentation presentation, const RunOne& run_one) {
  const ListFile list(options.out, urls);
  if (!list.ok()) {
    return absl::UnavailableError(
        fmt::format("cannot write {}: make room, or name another --out", list.path()));
  }
  options.urls = list.path();
  presentation.quiet = true;
  RunResult result = run_one(options, std::move(presentation));
  if (result.code == ExitCode::kInterrupted) return absl::CancelledError("stopped by the user");
  if (!result.error.ok()) return result.error;
  if (!result.summary) return absl::InternalError("the run gave no summary");
  auto records = ReadRecords(result.folder + "/records.db", urls.size());
  if (!records.ok()) return records.status();
  return OneRun{*std::move(result.summary), *std::move(records)};
}

struct Judged {
  std::vector<std::vector<Finding>> findings;  // as the behaviours
  std::vector<std::vector<Finding>> once;      // likewise: what a second look did not see again
  std::string runtime;
  std::string libc;
  std::string busy;  // what says that the machine was, in words; empty: nothing
  std::vector<std::string> faults;
};

// The marks that tell of a machine which had no time for the run. What is beside the target may be
// busy for a second at any run's start, which says nothing of its fetches.
std::string BusyInWords(const Summary& summary) {
  std::string words;
  for (const Mark& mark : summary.marks) {
    if (mark.name != "origin_late" && mark.name != "steal") continue;
    words += (words.empty() ? "" : "; ") + mark.text;
  }
  return words;
}

// Lines that are nobody's answer belong to no behaviour: `run` says when they came.
std::vector<std::string> LineFaults(const std::string& run, const Summary& summary) {
  std::vector<std::string> faults;
  for (const Mark& mark : summary.marks) {
    if (mark.name != "surplus_lines" && mark.name != "unparsable_lines") continue;
    faults.push_back(fmt::format("{}: {}", run, mark.text));
  }
  return faults;
}

void Append(std::vector<std::string> more, std::vector<std::string>& lines) {
  std::ranges::move(more, std::back_inserter(lines));
}

// Says it once, of the last finding that a busy machine may have brought about.
void TellBusy(const std::string& busy, std::vector<Finding>& findings) {
  if (busy.empty()) return;
  const auto last =
      std::ranges::find(findings.rbegin(), findings.rend(), true, &Finding::by_deadline);
  if (last == findings.rend()) return;
  last->text += fmt::format(" (judge it on a quieter machine: {})", busy);
}

absl::StatusOr<Judged> JudgeBehaviours(const RunOptions& base,
                                       const std::vector<Behaviour>& behaviours,
                                       const std::string& note, const RunOne& run_one) {
  RunOptions options = base;
  options.concurrency = kConcurrency;
  options.linger = kLinger;
  std::vector<std::string> urls;
  for (const Behaviour& behaviour : behaviours) urls.push_back(behaviour.url);
  Seen seen;
  RunPresentation presentation;
  presentation.title_note = note;
  presentation.before_web_ends = [&behaviours, &seen](OriginClient* origin, std::string) {
    return AskOrigin(origin, &behaviours, &seen);
  };
  auto run = RunList(options, urls, std::move(presentation), run_one);
  if (!run.ok()) return run.status();
  if (!seen.status.ok()) return seen.status;
  seen.sightings.resize(behaviours.size());  // the hook is not called when nothing was begun
  PolicyAsked asked;
  asked.timeout_us = std::chrono::microseconds(options.timeout).count();
  asked.user_agent = options.user_agent;
  Judged judged;
  judged.runtime = RuntimeInWords(run->summary.facts);
  judged.libc = run->summary.facts.libc;
  judged.busy = BusyInWords(run->summary);
  judged.faults = LineFaults(note, run->summary);
  for (size_t i = 0; i < behaviours.size(); ++i) {
    judged.findings.push_back(Judge(behaviours[i], run->records[i], seen.sightings[i], asked));
  }
  judged.once.resize(behaviours.size());
  return judged;
}

// What is not declared and may be the machine's doing is looked at a second time, alone.
absl::Status LookAgain(const RunOptions& base, const std::vector<Behaviour>& behaviours,
                       const std::vector<Deviation>& declared, Judged& judged,
                       const RunOne& run_one) {
  std::vector<Behaviour> again;
  std::vector<size_t> where;
  for (size_t i = 0; i < behaviours.size(); ++i) {
    const std::string& name = behaviours[i].name;
    if (std::ranges::none_of(judged.findings[i], [&name, &declared](const Finding& finding) {
          return finding.by_deadline && !IsDeclared(name, finding, declared);
        })) {
      continue;
    }
    again.push_back(behaviours[i]);
    where.push_back(i);
  }
  if (again.empty()) return absl::OkStatus();
  auto second = JudgeBehaviours(base, again, "looking again", run_one);
  if (!second.ok()) return second.status();
  Append(std::move(second->faults), judged.faults);
  for (size_t i = 0; i < where.size(); ++i) {
    TwoLooks looks = Compare(std::move(judged.findings[where[i]]), std::move(second->findings[i]));
    TellBusy(second->busy, looks.stay);
    judged.findings[where[i]] = std::move(looks.stay);
    judged.once[where[i]] = std::move(looks.once);
  }
  return absl::OkStatus();
}

// Those that hold with the C library that ran.
std::vector<Deviation> DeclaredBy(const TargetInfo& target, const std::string& libc) {
  std::vector<Deviation> declared;
  for (const Deviation& d : target.deviations) {
    if (!d.libc.empty() && !libc.starts_with(d.libc)) continue;
    declared.push_back(d);
  }
  return declared;
}

// One that is compared with a run that told nothing has no verdict.
Cell CheckResource(const ResourceCheck& check, const absl::StatusOr<OneRun>& run,
                   std::map<std::string, uint64_t>& peaks, const std::vector<Deviation>& declared) {
  if (!run.ok()) {
    return MakeCell(check.name, {{"no_record", std::string(run.status().message())}}, declared);
  }
  peaks[check.name] = run->summary.cost.peak_rss_bytes_max;
  const auto before = peaks.find(check.compared_with);
  if (!check.compared_with.empty() && (before == peaks.end() || before->second == 0)) {
    return {.not_run =
                fmt::format("nothing is known of the peak memory in {}, which it is compared "
                            "with",
                            check.compared_with)};
  }
  const uint64_t before_bytes = before == peaks.end() ? 0 : before->second;
  std::vector<Finding> findings = JudgeResource(check, run->records, run->summary, before_bytes);
  TellBusy(BusyInWords(run->summary), findings);
  return MakeCell(check.name, std::move(findings), declared);
}

absl::Status CheckResources(const CheckPlan& plan, const RunOptions& base, MatrixColumn& column,
                            std::string& libc, const RunOne& run_one) {
  std::map<std::string, uint64_t> peaks;  // bytes, by check
  for (size_t i = 0; i < plan.resources.size(); ++i) {
    const ResourceCheck& check = plan.resources[i];
    RunOptions options = base;
    options.concurrency = check.concurrency;
    options.timeout = std::chrono::milliseconds(check.timeout_us / 1000);
    RunPresentation presentation;
    presentation.title_note = check.name;
    const auto run = RunList(options, check.urls, std::move(presentation), run_one);
    if (absl::IsCancelled(run.status())) return run.status();
    if (run.ok() && column.runtime.empty()) {
      column.runtime = RuntimeInWords(run->summary.facts);
      libc = run->summary.facts.libc;
    }
    if (run.ok()) Append(LineFaults(check.name, run->summary), column.faults);
    column.cells[plan.behaviours.size() + i] =
        CheckResource(check, run, peaks, DeclaredBy(base.target, libc));
  }
  return absl::OkStatus();
}

absl::Status Fill(const CheckPlan& plan, const TargetInfo& target, MatrixColumn& column,
                  const RunOne& run_one) {
  RunOptions base = plan.run;
  base.target = target;
  std::vector<Behaviour> played;
  std::vector<size_t> where;
  for (size_t i = 0; i < plan.behaviours.size(); ++i) {
    if (plan.behaviours[i].native_only && target.is_container()) continue;
    played.push_back(plan.behaviours[i]);
    where.push_back(i);
  }
  std::string libc;
  if (!played.empty()) {
    auto judged = JudgeBehaviours(base, played, "behaviours", run_one);
    if (!judged.ok()) return judged.status();
    libc = judged->libc;
    const std::vector<Deviation> declared = DeclaredBy(target, libc);
    if (absl::Status s = LookAgain(base, played, declared, *judged, run_one); !s.ok()) return s;
    column.runtime = judged->runtime;
    column.faults = std::move(judged->faults);
    for (size_t i = 0; i < played.size(); ++i) {
      Cell& cell = column.cells[where[i]];
      cell = MakeCell(played[i].name, std::move(judged->findings[i]), declared);
      cell.once = std::move(judged->once[i]);
    }
  }
  if (absl::Status s = CheckResources(plan, base, column, libc, run_one); !s.ok()) return s;
  column.stale = FindStale(EmptyMatrix(plan).behaviours, column.cells, DeclaredBy(target, libc),
                           plan.all_rows);
  return absl::OkStatus();
}

}  // namespace

Matrix EmptyMatrix(const CheckPlan& plan) {
  Matrix matrix;
  for (const Behaviour& behaviour : plan.behaviours) {
    matrix.behaviours.push_back(behaviour.name);
    matrix.families.push_back(behaviour.family);
  }
  for (const ResourceCheck& check : plan.resources) {
    matrix.behaviours.push_back(check.name);
    matrix.families.emplace_back("resources");
  }
  return matrix;
}

absl::StatusOr<MatrixColumn> CheckTarget(const CheckPlan& plan, const TargetInfo& target,
                                         const RunOne& run_one) {
  const Matrix rows = EmptyMatrix(plan);
  MatrixColumn column;
  column.target = target.name;
  column.cells.resize(rows.behaviours.size());
  const absl::Status status = Fill(plan, target, column, run_one);
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) {
    column.not_run = std::string(status.message());
    return column;
  }
  return column;
}

Matrix CheckAll(const CheckPlan& plan, const std::vector<TargetInfo>& targets,
                const RunOne& run_one, const std::function<void(const std::string&)>& say) {
  Matrix matrix = EmptyMatrix(plan);
  for (size_t i = 0; i < targets.size() && !matrix.partial; ++i) {
    say(fmt::format("{} ({} of {})", targets[i].name, i + 1, targets.size()));
    auto column = CheckTarget(plan, targets[i], run_one);
    matrix.partial = !column.ok();
    if (column.ok()) matrix.columns.push_back(*std::move(column));
  }
  return matrix;
}

}  // namespace fetchbench::coordinator
