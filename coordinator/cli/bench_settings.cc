#include <fmt/format.h>

#include <algorithm>

#include "coordinator/cli/setting_values.h"
#include "coordinator/cli/settings.h"
#include "coordinator/cli/suggest.h"

#ifndef FETCHBENCH_SOURCE
#error "the build defines FETCHBENCH_SOURCE"
#endif

namespace fetchbench::coordinator {
namespace {

constexpr uint32_t kMaxRounds = 1'000;

// Those of `run` but for some names.
std::vector<Setting> RunSettingsWithout(Options& options, const TargetRegistry& targets,
                                        const std::vector<std::string>& names) {
  std::vector<Setting> settings = RunSettings(options, targets);
  std::erase_if(settings, [&names](const Setting& setting) {
    return std::ranges::find(names, setting.option) != names.end();
  });
  return settings;
}

absl::Status AddTarget(const std::string& text, const TargetRegistry& targets,
                       std::vector<TargetInfo>& to) {
  const TargetInfo* target = targets.Find(text);
  if (target == nullptr) {
    return WrongValue(NoSuchTarget(text, targets.Words()));
  }
  const bool twice =
      std::ranges::any_of(to, [target](const TargetInfo& t) { return t.name == target->name; });
  if (!twice) to.push_back(*target);
  return absl::OkStatus();
}

void AddOnly(const std::string& list, std::vector<std::string>& only) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    if (comma > begin) only.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

}  // namespace

std::vector<Setting> BenchSettings(Options& options, const TargetRegistry& targets) {
  BenchOptions& bench = options.bench;
  bench.settings = FETCHBENCH_SOURCE "/settings.json";
  options.run.urls = FETCHBENCH_SOURCE "/data/urls.txt";
  std::vector<Setting> settings{
      {"--rounds", "N", "", "Counted runs of each target. Default: 3.", false,
       [&bench](const std::string& t) { return SetNumber(t, 1, kMaxRounds, bench.rounds); }},
      {"--settings", "FILE", "",
       "JSON array of {\"name\", \"concurrency\"}: which targets, and how many requests in flight. "
       "Default: settings.json of fetchbench.",
       false, [&bench](const std::string& t) { return SetPath(t, bench.settings); }},
      {"--format", "FORMAT", "FORMAT",
       "What standard output gets: pretty (default), markdown, csv, json. FORMAT=result means "
       "json, plain means csv.",
       false, [&bench](const std::string& t) {
         return SetChoice<BenchFormat>(t,
                                       {{"pretty", BenchFormat::kPretty},
                                        {"markdown", BenchFormat::kMarkdown},
                                        {"csv", BenchFormat::kCsv},
                                        {"json", BenchFormat::kJson},
                                        {"result", BenchFormat::kJson},
                                        {"plain", BenchFormat::kCsv}},
                                       bench.format);
       }}};
  for (Setting& s : RunSettingsWithout(
           options, targets, {"--target", "--format", "--image", "--max-body", "--threads"})) {
    if (s.option == "--urls") {
      s.help = "The list: a file with one URL a line. Default: data/urls.txt of fetchbench.";
    }
    if (s.option == "--concurrency") {
      s.help =
          "Requests in flight at most, for each agent and every target alike. Default: as "
          "the settings say.";
    }
    settings.push_back(std::move(s));
  }
  return settings;
}

std::vector<Setting> VerifySettings(Options& options, const TargetRegistry& targets) {
  VerifyOptions& verify = options.verify;
  options.run.profile = "fast";
  options.run.timeout = std::chrono::seconds(2);
  options.run.user_agent = "fetchbench-verify/1";
  std::vector<Setting> settings{
      {"--target", "NAME", "", "A target, by name or alias; the same as TARGET.", true,
       [&verify, &targets](const std::string& t) { return AddTarget(t, targets, verify.targets); }},
      {"--only", "NAME,...", "",
       "Only these behaviours (data/behaviours.json) and many-host runs; redirect-* stands for all "
       "that begin so. Default: all.",
       true,
       [&verify](const std::string& t) {
         AddOnly(t, verify.only);
         return absl::OkStatus();
       }},
      {"--no-resources", "", "", "Leave out the runs over many hosts, which take most of the time.",
       false,
       [&verify](const std::string&) {
         verify.resources = false;
         return absl::OkStatus();
       }},
      {"--format", "FORMAT", "FORMAT", "pretty (default), markdown, json.", false,
       [&verify](const std::string& t) {
         return SetChoice<MatrixFormat>(t,
                                        {{"pretty", MatrixFormat::kPretty},
                                         {"markdown", MatrixFormat::kMarkdown},
                                         {"json", MatrixFormat::kJson},
                                         {"result", MatrixFormat::kJson}},
                                        verify.format);
       }}};
  const std::vector<std::string> none{
      "--target",    "--urls",        "--limit",        "--concurrency", "--per-host",
      "--duration",  "--user-agent",  "--max-body",     "--threads",     "--image",
      "--web",       "--seed",        "--origin",       "--format",      "--agents",
      "--inventory", "--credentials", "--allow-private"};
  for (Setting& s : RunSettingsWithout(options, targets, none)) {
    if (s.option == "--timeout") {
      s.variable.clear();  // an ordinary run's deadline is none for this
      s.help = "Deadline of one request. Default: 2.";
    }
    settings.push_back(std::move(s));
  }
  return settings;
}

Setting BenchWord(Options& options) {
  auto& names = options.bench.names;
  return {"TARGET", "", "", "", true, [&names](const std::string& t) {
            names.push_back(t);
            return absl::OkStatus();
          }};
}

Setting VerifyWord(Options& options, const TargetRegistry& targets) {
  auto& named = options.verify.targets;
  return {
      "TARGET", "",
      "",       "",
      true,     [&named, &targets](const std::string& t) {
            return AddTarget(t, targets, named); }};
}

}  // namespace fetchbench::coordinator
