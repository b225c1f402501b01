#include "coordinator/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>

#include "common/loopback.h"
#include "coordinator/cli/manual.h"
#include "coordinator/cli/program_name.h"
#include "coordinator/cli/settings.h"
#include "coordinator/cli/suggest.h"

#ifndef FETCHBENCH_VERSION
#error "the build defines FETCHBENCH_VERSION"
#endif

namespace fetchbench::coordinator {
namespace {

using Given = std::map<std::string, std::vector<std::string>>;  // option -> values, in order

constexpr int kMaxWords = 1'000;
// A run among many does not wait for ever for agents that are gone.
constexpr std::chrono::seconds kGiveUpOneOfMany{60};
// Real servers belong to somebody; simulated ones are there to be loaded.
constexpr uint32_t kPerRealHost = 2;

absl::Status Usage(const std::string& message) { return absl::InvalidArgumentError(message); }

std::vector<std::string> OptionNames(const std::vector<Setting>& settings) {
  std::vector<std::string> names;
  names.reserve(settings.size());
  for (const Setting& s : settings) names.push_back(s.option);
  return names;
}

absl::Status CheckSurplus(const std::vector<std::string>& surplus, const std::string& command,
                          const std::vector<Setting>& settings) {
  if (surplus.empty()) return absl::OkStatus();
  const std::string word = surplus[0].substr(0, surplus[0].find('='));
  if (!word.starts_with('-')) {
    return Usage(fmt::format("'{}' is not expected after `{}`", word, command));
  }
  return Usage(fmt::format("unknown option {}{}; `{} --help` lists them", word,
                           DidYouMean(word, OptionNames(settings)), command));
}

// Of a value that is missing CLI11 says "1 required TEXT missing".
std::string InOurWords(const CLI::ParseError& error, const std::vector<Setting>& settings) {
  const std::string words = error.what();
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) return words;
  for (const Setting& s : settings) {
    if (!words.starts_with(s.option + ":")) continue;
    return fmt::format("{} needs a value: {} {}", s.option, s.option, s.argument);
  }
  return words;
}

// Splits the command line into options and their values; the word that is no option is taken as
// the value of `word`, if the command has one.
absl::StatusOr<Given> Split(const std::vector<std::string>& arguments, const std::string& command,
                            const std::vector<Setting>& settings,
                            const std::optional<Setting>& word) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  Given given;
  std::map<std::string, bool> flags;
  for (const Setting& s : settings) {
    if (s.argument.empty()) {
      app.add_flag(s.option, flags[s.option]);
    } else {
      app.add_option(s.option, given[s.option])->allow_extra_args(false);
    }
  }
  std::vector<std::string> words;
  if (word) app.add_option(word->option, words)->expected(0, kMaxWords);
  try {
    // CLI11 takes them in reverse order.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& e) {
    return Usage(InOurWords(e, settings));
  }
  if (absl::Status s = CheckSurplus(app.remaining(), command, settings); !s.ok()) return s;
  for (const auto& [option, set] : flags) {
    if (set) given[option] = {""};
  }
  if (words.size() > 1 && !word->repeatable) {
    return Usage(
        fmt::format("'{}' is not expected: {} is {} already", words[1], word->option, words[0]));
  }
  if (!words.empty()) given[word->option] = std::move(words);
  return given;
}

absl::Status Apply(const Given& given, const Environment& env,
                   const std::vector<Setting>& settings) {
  for (const Setting& s : settings) {
    const auto it = given.find(s.option);
    std::vector<std::string> values = it == given.end() ? std::vector<std::string>() : it->second;
    std::string source = s.option;
    if (values.size() > 1 && !s.repeatable) {
      return Usage(fmt::format("{} is given {} times", s.option, values.size()));
    }
    if (values.empty() && !s.variable.empty()) {
      const auto value = env(s.variable);
      if (value && !value->empty()) {
        values = {*value};
        source = "environment variable " + s.variable;
      }
    }
    for (const std::string& value : values) {
      if (absl::Status status = s.set(value); !status.ok()) {
        return Usage(fmt::format("{}: {}", source, std::string(status.message())));
      }
    }
  }
  return absl::OkStatus();
}

// What one kind of target does not know would be ignored in silence.
absl::Status CheckContainerOptions(const RunOptions& run) {
  const auto wrong = [&](std::string_view option, std::string_view why) {
    return Usage(fmt::format("{} does not go with target {}: {}", option, run.target.name, why));
  };
  if (run.target.is_container()) {
    constexpr std::string_view kNative = "only native takes it";
    if (run.threads != 0) return wrong("--threads", kNative);
    if (run.max_body_bytes != 0) return wrong("--max-body", kNative);
    if (!run.image.empty() && !run.build_arguments.empty()) {
      return Usage("--build-arg does not go with --image, which is built already");
    }
    return absl::OkStatus();
  }
  constexpr std::string_view kNoContainer = "it is no container";
  if (!run.image.empty()) return wrong("--image", kNoContainer);
  if (!run.build_arguments.empty()) return wrong("--build-arg", kNoContainer);
  if (run.cpu_permille != 0) return wrong("--cpus", kNoContainer);
  if (!run.cpuset.empty()) return wrong("--cpuset", kNoContainer);
  if (run.memory_bytes != 0) return wrong("--memory", kNoContainer);
  return absl::OkStatus();
}

absl::Status CheckRun(const RunOptions& run) {
  if (run.target.name.empty()) {
    return Usage(fmt::format("which target? Name one (or use --target); `{} targets` lists them",
                             ProgramName()));
  }
  if (absl::Status s = CheckContainerOptions(run); !s.ok()) return s;
  return CheckWeb(run);
}

void SetPerHost(RunOptions& run) {
  if (!run.per_host) run.per_host = run.web == Web::kInternet ? kPerRealHost : 0;
}

void SetGiveUp(RunOptions& run) {
  if (run.give_up_after.count() == 0) run.give_up_after = kGiveUpOneOfMany;
}

// Fills in what depends on more than one option, and checks what they come to together.
absl::Status Complete(Options& options, const TargetRegistry& targets) {
  SetPerHost(options.run);
  if (!options.inventory.empty() && !(options.agents.empty() && options.run.agents.empty())) {
    return Usage("--agents and --inventory both say which agents: name them in one place");
  }
  switch (options.command) {
    case Command::kRun:
      if (absl::Status s = CheckRun(options.run); !s.ok()) return s;
      if (options.run.concurrency == 0) options.run.concurrency = options.run.target.concurrency;
      return absl::OkStatus();
    case Command::kBench:
      SetGiveUp(options.run);
      options.bench.run = options.run;
      return CheckWeb(options.run);
    case Command::kVerify:
      SetGiveUp(options.run);
      options.verify.named = !options.verify.targets.empty();
      if (!options.verify.named) options.verify.targets = targets.targets();
      options.verify.run = options.run;
      return CheckWeb(options.run);
    default:
      return absl::OkStatus();
  }
}

// Where `bin/pki init` puts an operator's credentials.
std::string CredentialsPlace(const Environment& env) {
  const std::string home = env("HOME").value_or("");
  std::string config = env("XDG_CONFIG_HOME").value_or("");
  if (config.empty() && !home.empty()) config = home + "/.config";
  return config.empty() ? "" : config + "/fetchbench/credentials";
}

bool WantsHelp(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& a) { return a == "--help" || a == "-h"; });
}

struct CommandParts {
  Command command;
  std::vector<Setting> settings;
  std::optional<Setting> word;  // what is no option
};

CommandParts PartsOf(const std::string& name, Options& options, const TargetRegistry& targets) {
  if (name == "run") {
    return {Command::kRun, RunSettings(options, targets), TargetWord(options, targets)};
  }
  if (name == "resume")
    return {Command::kResume, ResumeSettings(options, targets), ResumeWord(options)};
  if (name == "bench") {
    return {Command::kBench, BenchSettings(options, targets), BenchWord(options)};
  }
  if (name == "verify") {
    return {Command::kVerify, VerifySettings(options, targets), VerifyWord(options, targets)};
  }
  if (name == "agents") {
    std::vector<Setting> settings = AgentSettings(options);
    settings.push_back(AgentsFormatSetting(options));
    return {Command::kAgents, std::move(settings), std::nullopt};
  }
  if (name == "cancel") return {Command::kCancel, AgentSettings(options), std::nullopt};
  if (name == "targets") return {Command::kTargets, {}, std::nullopt};
  return {Command::kImportUrls, ImportSettings(options), FileWord(options)};
}

}  // namespace

absl::Status CheckWeb(const RunOptions& run) {
  if (run.web == Web::kInternet && !run.origin.empty()) {
    return Usage("--origin is a simulated web: it does not go with --web internet");
  }
  const bool elsewhere =
      std::any_of(run.agents.begin(), run.agents.end(),
                  [](const AgentEndpoint& a) { return !StaysOnThisMachine(a.address); });
  if (run.web == Web::kSim && run.origin.empty() && elsewhere) {
    return Usage(
        "agents on other hosts cannot reach a simulated web on this one's loopback: start "
        "`bin/origin` where they can, and name it with --origin HOST:PORT");
  }
  return absl::OkStatus();
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const Environment& env, const TargetRegistry& targets) {
  Options options;
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    options.text = UnderName(ProgramManual(), ProgramName(env));
    return options;
  }
  const std::string& name = arguments[0];
  if (name == "--version") {
    options.text = "fetchbench " FETCHBENCH_VERSION "\n";
    return options;
  }
  const auto& names = CommandNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Usage(fmt::format("unknown command '{}'{}; `{} --help` lists them", name,
                             DidYouMean(name, names), ProgramName(env)));
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const CommandParts parts = PartsOf(name, options, targets);
  if (WantsHelp(rest)) {
    options.text =
        UnderName(name == "run" ? RunManual(parts.settings) : CommandManual(name, parts.settings),
                  ProgramName(env));
    return options;
  }
  const auto given = Split(rest, ProgramName(env) + " " + name, parts.settings, parts.word);
  if (!given.ok()) return given.status();
  if (absl::Status s = Apply(*given, env, parts.settings); !s.ok()) return s;
  if (const auto word = parts.word ? given->find(parts.word->option) : given->end();
      word != given->end()) {
    for (const std::string& text : word->second) {
      if (absl::Status s = parts.word->set(text); !s.ok()) return s;
    }
  }
  options.command = parts.command;
  options.run.base_images = BaseImagesFile(env);
  options.run.base_images_must_exist = !env("FETCHBENCH_BASE_IMAGES").value_or("").empty();
  options.run.credentials.default_place = CredentialsPlace(env);
  options.resume.credentials.default_place = CredentialsPlace(env);
  if (absl::Status s = Complete(options, targets); !s.ok()) return s;
  return options;
}

}  // namespace fetchbench::coordinator
