#include "coordinator/bench/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "common/files.h"
#include "common/record_line.h"
#include "coordinator/bench/bench_runner.h"
#include "coordinator/cli/print_output.h"
#include "coordinator/input/url_list.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<BenchSetting>> ReadSettings(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(), fmt::format("the settings that --settings names: {}",
                                                          std::string(text.status().message())));
  }
  auto settings = ParseBenchSettings(*text);
  if (settings.ok()) return settings;
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", path, std::string(settings.status().message())));
}

// "20261201T031500Z" of "2026-12-01T03:15:00.123456Z".
std::string Compact(const std::string& rfc3339) {
  std::string compact;
  for (const char c : rfc3339.substr(0, 19)) {
    if (c != '-' && c != ':') compact += c;
  }
  return compact + "Z";
}

absl::Status WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) return absl::UnavailableError(fmt::format("cannot write {}", path.string()));
  return absl::OkStatus();
}

// Its name; another one that began in the same second has one of its own.
absl::StatusOr<std::string> MakeFolder(const fs::path& out, const std::string& wanted) {
  constexpr int kMost = 1'000;
  std::error_code error;
  fs::create_directories(out, error);
  std::string name = wanted;
  for (int n = 2; n <= kMost && !error; ++n) {
    if (fs::create_directory(out / name, error)) return name;
    name = fmt::format("{}-{}", wanted, n);
  }
  return absl::UnavailableError(
      fmt::format("cannot make the folder {}: {}", (out / name).string(), error.message()));
}

absl::StatusOr<std::string> WriteReports(const BenchResult& result, const std::string& out) {
  constexpr int kFileWidth = 400;  // the whole table in one
  const absl::StatusOr<std::string> made =
      MakeFolder(out, "bench-" + Compact(result.facts.started_at));
  if (!made.ok()) return made.status();
  const std::string& name = *made;
  const fs::path folder = fs::path(out) / name;
  std::error_code error;
  TextStyle style;
  style.width = kFileWidth;
  const std::vector<std::pair<std::string, std::string>> files{
      {"table.txt", BenchText(result, style)},
      {"table.md", BenchMarkdown(result)},
      {"table.csv", BenchCsv(result)},
      {"results.json", BenchJson(result)}};
  for (const auto& [file, text] : files) {
    if (absl::Status s = WriteFile(folder / file, text); !s.ok()) return s;
  }
  const fs::path link = fs::path(out) / "bench-latest";
  fs::remove(link, error);
  fs::create_directory_symlink(name, link, error);  // a convenience: no reason to fail
  return folder.string();
}

std::string Render(const BenchResult& result, BenchFormat format) {
  switch (format) {
    case BenchFormat::kMarkdown:
      return BenchMarkdown(result);
    case BenchFormat::kCsv:
      return BenchCsv(result);
    case BenchFormat::kJson:
      return BenchJson(result);
    case BenchFormat::kPretty:
      break;
  }
  return BenchText(result, Terminal(STDOUT_FILENO, ProcessEnvironment()).Style());
}

BenchFacts FactsOf(const BenchOptions& options, const Clock& clock) {
  BenchFacts facts;
  facts.version = FETCHBENCH_VERSION;
  AppendRfc3339(facts.started_at, clock.WallUs());
  facts.web = options.run.web == Web::kInternet
                  ? "internet"
                  : fmt::format("sim:{}, seed {}", options.run.profile, options.run.seed);
  facts.list = options.run.urls;
  facts.rounds = options.rounds;
  facts.order_seed = options.run.seed;
  return facts;
}

std::string HostOf(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows) {
    for (const BenchRound& round : row.rounds) {
      if (round.summary) return round.summary->facts.host;
    }
  }
  return "this host";
}

ExitCode CodeOf(const BenchResult& result) {
  if (result.facts.partial) return ExitCode::kInterrupted;
  return result.AnyFailed() ? ExitCode::kIncomplete : ExitCode::kDone;
}

}  // namespace

absl::StatusOr<std::vector<TargetInfo>> ChooseBenchTargets(const BenchOptions& options,
                                                           const TargetRegistry& registry) {
  const auto settings = ReadSettings(options.settings);
  if (!settings.ok()) return settings.status();
  return BenchTargets(*settings, options.names, options.run.concurrency, registry);
}

absl::Status CheckBenchList(const std::string& path) {
  std::error_code error;
  if (path == "-" || fs::is_fifo(path, error)) {
    return absl::InvalidArgumentError(fmt::format(
        "--urls {}: every run reads the list from its beginning, so name a file", path));
  }
  const absl::StatusOr<int> list = OpenUrlList(path);
  if (list.ok()) close(*list);
  return list.status();
}

ExitCode Bench(const BenchOptions& options, const TargetRegistry& registry) {
  const auto complain = [](const absl::Status& status, ExitCode code) {
    fmt::print(stderr, "coordinator: {}\n", std::string(status.message()));
    return code;
  };
  auto targets = ChooseBenchTargets(options, registry);
  if (!targets.ok()) return complain(targets.status(), ExitCode::kUsage);
  const absl::Status list = CheckBenchList(options.run.urls);
  if (!list.ok()) return complain(list, ExitCode::kUsage);
  const SystemClock clock;
  BenchResult result;
  result.facts = FactsOf(options, clock);
  const std::vector<BenchStep> steps = PlanSteps(targets->size(), options.rounds, options.run.seed);
  BenchRunner runner(*std::move(targets), options.run, clock,
                     [](const std::string& line) { fmt::print(stderr, "bench: {}\n", line); });
  result.rows = runner.Run(steps, RunOnce);
  result.facts.partial = runner.interrupted();
  result.facts.host = HostOf(result.rows);
  result.Sort();
  const auto folder = WriteReports(result, options.run.out);
  const ExitCode printed = PrintOutput(Render(result, options.format), CodeOf(result));
  if (!folder.ok()) return complain(folder.status(), ExitCode::kInternalError);
  fmt::print(stderr, "bench: {}/table.txt, .md, .csv and results.json\n", *folder);
  return printed;
}

}  // namespace fetchbench::coordinator
