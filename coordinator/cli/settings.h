#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/cli/options.h"

namespace fetchbench::coordinator {

// One option of a command: what the parser, the environment and the manual page need to know of it.
struct Setting {
  std::string option;    // "--timeout"
  std::string argument;  // "SECONDS"; empty: a flag
  std::string variable;  // "REQUEST_TIMEOUT"; empty: none
  std::string help;      // with default and unit
  bool repeatable = false;
  // Checks the text and stores it. The error says what is wrong with it, not where it came from. A
  // flag gets "".
  std::function<absl::Status(const std::string&)> set;
};

// Those of each command; they store into `options`, which outlives
// them, as does `targets`.
std::vector<Setting> RunSettings(Options& options, const TargetRegistry& targets);
std::vector<Setting> AgentSettings(Options& options);
Setting AgentsFormatSetting(Options& options);
std::vector<Setting> ImportSettings(Options& options);

// resume_settings.cc. Some of `run`, for what the run had when it was begun.
std::vector<Setting> ResumeSettings(Options& options, const TargetRegistry& targets);

// bench_settings.cc. Most are those of `run`, and store into options.run first.
std::vector<Setting> BenchSettings(Options& options, const TargetRegistry& targets);
std::vector<Setting> VerifySettings(Options& options, const TargetRegistry& targets);

// metrics_setting.cc.
Setting MetricsSetting(RunOptions& run);

// The word behind the command, that is no option: RUN of `resume`, TARGET of `run`, `bench`
// (repeatable) and `verify` (repeatable), FILE of `import-urls`.
Setting TargetWord(Options& options, const TargetRegistry& targets);
Setting BenchWord(Options& options);
Setting VerifyWord(Options& options, const TargetRegistry& targets);
Setting FileWord(Options& options);
Setting ResumeWord(Options& options);

}  // namespace fetchbench::coordinator
