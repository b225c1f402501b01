#include <algorithm>
#include <functional>
#include <utility>

#include "coordinator/cli/setting_values.h"
#include "coordinator/cli/settings.h"

namespace fetchbench::coordinator {
namespace {

// A setting of `run` that `resume` has too, with its own help, and what becomes of its value.
struct Shared {
  std::string option;
  std::string help;  // empty: that of `run`
  std::function<void()> take;
};

}  // namespace

std::vector<Setting> ResumeSettings(Options& options, const TargetRegistry& targets) {
  ResumeOptions& resume = options.resume;
  const RunOptions& run = options.run;
  const std::vector<Shared> shared{
      {"--out", "Where run folders are. Default: out.", [&] { resume.out = run.out; }},
      {"--duration", "Stop so long from now; 0: no limit. Default: what is left of the run's own.",
       [&] { resume.duration = run.duration; }},
      {"--origin",
       "Where the origin is now, with the profile and seed of before. Default: where it was, or "
       "one "
       "is started.",
       [&] { resume.origin = run.origin; }},
      {"--credentials",
       "Folder of an operator's credentials. Default: as before, or "
       "~/.config/fetchbench/credentials for agents that are not on this machine.",
       [&] { resume.credentials.named = run.credentials.named; }},
      {"--connect-timeout", "How long to wait for the agents at the beginning. Default: as before.",
       [&] { resume.connect_timeout = run.connect_timeout; }},
      {"--give-up-after",
       "End the run when no agent has been there for so long; 0: never. Default: as before.",
       [&] { resume.give_up_after = run.give_up_after; }},
      {"--format", "", [&] { resume.format = run.format; }},
      {"--progress", "", [&] { resume.progress = run.progress; }},
      {"--log-level", "", [&] { resume.log_level = run.log_level; }},
      {"--log-format", "", [&] { resume.log_format = run.log_format; }},
      {"--metrics", "", [&] { resume.metrics = run.metrics; }}};
  std::vector<Setting> settings;
  for (Setting& setting : RunSettings(options, targets)) {
    const auto mine = std::ranges::find(shared, setting.option, &Shared::option);
    if (mine == shared.end()) continue;
    if (!mine->help.empty()) {
      setting.help = mine->help;
      setting.variable.clear();  // what the environment says of runs is not about this one
    }
    setting.set = [set = setting.set, take = mine->take](const std::string& text) {
      const absl::Status status = set(text);
      if (status.ok()) take();
      return status;
    };
    settings.push_back(std::move(setting));
  }
  return settings;
}

Setting ResumeWord(Options& options) {
  std::string& run = options.resume.run;
  return {"RUN", "", "", "", false, [&run](const std::string& text) { return SetPath(text, run); }};
}

}  // namespace fetchbench::coordinator
