#include "agent/native/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "agent/native/connect_to.h"

namespace fetchbench::native {
namespace {

constexpr size_t kMaxConcurrency = 1'000'000;
constexpr size_t kMaxThreads = 1024;
constexpr double kMaxTimeoutSeconds = 86'400;
constexpr int kUsageError = 2;  // README.md, "Exit codes"
constexpr uint16_t kDnsPort = 53;

constexpr const char* kAbout =
    "Fetches each URL of standard input once, over HTTP/1.1, and prints one record line for each "
    "on "
    "standard output as soon as it is done.\n"
    "Example: fetchbench-native --concurrency 100 < urls.txt > records.csv";

constexpr const char* kFooter =
    "Exit codes: 0 every URL has its record, 1 internal error, 2 wrong usage, 130/143 ended by "
    "SIGINT/SIGTERM.";

// The values as CLI11 fills them, before they are checked together.
struct Raw {
  Options options;
  double timeout_seconds = 5;
  std::string resolver;
};

// An option that takes one of a few words, in any case. (CLI11's own CheckedTransformer shows its
// users the numbers behind the words.)
template <typename Choice>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, Choice& value,
                       const std::map<std::string, Choice>& choices, const std::string& about) {
  std::vector<std::string> words;
  for (const auto& [word, choice] : choices) words.push_back(word);
  const auto check = [choices, words](const std::string& given) {
    if (choices.contains(CLI::detail::to_lower(given))) return std::string();
    return fmt::format("'{}' is none of {}", given, fmt::join(words, ", "));
  };
  const auto take = [&value, choices](const CLI::results_t& given) {
    value = choices.at(CLI::detail::to_lower(given.back()));  // checked before
    return true;
  };
  return app.add_option(name, take, about)
      ->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check(CLI::Validator(check, ""));
}

void AddLoadOptions(CLI::App& app, Raw& raw) {
  Options& o = raw.options;
  app.add_option("-c,--concurrency", o.concurrency, "Fetches in flight at most")
      ->envname("CONCURRENCY")
      ->check(CLI::Range(size_t{1}, kMaxConcurrency))
      ->capture_default_str();
  app.add_option(
         "-t,--timeout", raw.timeout_seconds,
         "Seconds a URL may take, from before DNS to the last body byte, redirects included")
      ->envname("REQUEST_TIMEOUT")
      ->check(CLI::Range(0.001, kMaxTimeoutSeconds))
      ->capture_default_str();
  app.add_option("--threads", o.threads, "Worker threads (default: one for each usable CPU)")
      ->envname("THREADS")
      ->check(CLI::Range(size_t{0}, kMaxThreads));
  app.add_option("--max-body", o.max_body, "Bytes of body after which a fetch is given up")
      ->capture_default_str();
  app.add_option("--max-redirects", o.max_redirects, "Redirects followed at most")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
}

void AddRequestOptions(CLI::App& app, Raw& raw) {
  Options& o = raw.options;
  app.add_option("--user-agent", o.user_agent, "User-Agent header")
      ->envname("USER_AGENT")
      ->capture_default_str();
  app.add_option("--ca-file", o.ca_file, "PEM file of roots trusted beside the system's")
      ->envname("CA_FILE");
  app.add_option("--resolver", raw.resolver,
                 "DNS server ADDRESS[:PORT] (default: the system's, and /etc/hosts)");
  app.add_option("--connect-to", o.connect_to,
                 "HOST1:PORT1:HOST2:PORT2: connect to HOST2:PORT2 instead of HOST1:PORT1 (as curl; "
                 "an empty part matches all or stays as it is); repeatable")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_flag("--deny-private", o.deny_private,
               "Refuse private, loopback, link-local and metadata addresses, and this host's own");
  AddChoice(app, "--ip", o.ip_version,
            {{"auto", IpVersion::kAuto}, {"v4", IpVersion::kV4}, {"both", IpVersion::kBoth}},
            "Addresses asked for; auto: IPv6 too when this machine has a route")
      ->default_str("auto");
}

EarlyExit UsageError(std::string_view message) {
  return {kUsageError, fmt::format("fetchbench-native: {}\nRun with --help for usage.\n", message)};
}

bool HasLineBreak(const std::string& text) {
  return text.find_first_of(std::string("\r\n\0", 3)) != std::string::npos;
}

// What CLI11 cannot check alone.
std::variant<Options, EarlyExit> Checked(Raw raw) {
  Options& o = raw.options;
  o.timeout = std::chrono::milliseconds(std::llround(raw.timeout_seconds * 1000));
  if (HasLineBreak(o.user_agent)) return UsageError("--user-agent must not hold line breaks");
  if (!raw.resolver.empty()) {
    const auto server = ParseAddressPort(raw.resolver, kDnsPort);
    if (!server.ok()) {
      return UsageError("--resolver " + std::string(server.status().message()));
    }
    const bool v6 = server->host.find(':') != std::string::npos;
    o.resolver = v6 ? fmt::format("[{}]:{}", server->host, server->port)
                    : fmt::format("{}:{}", server->host, server->port);
  }
  ConnectTo rules;
  for (const std::string& rule : o.connect_to) {
    if (const absl::Status s = rules.Add(rule); !s.ok())
      return UsageError(std::string(s.message()));
  }
  return std::move(o);
}

}  // namespace

std::variant<Options, EarlyExit> ParseOptions(int argc, const char* const* argv) {
  Raw raw;
  raw.options.user_agent = "fetchbench/" FETCHBENCH_VERSION;
  CLI::App app(kAbout, "fetchbench-native");
  app.footer(kFooter);
  // As curl: of an option given twice the last one counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", "fetchbench-native " FETCHBENCH_VERSION);
  AddLoadOptions(app, raw);
  AddRequestOptions(app, raw);
  AddChoice(app, "--format", raw.options.format,
            {{"plain", RecordFormat::kPlain}, {"jsonl", RecordFormat::kJsonl}},
            "Record lines; plain: five fields, jsonl: one JSON object each")
      ->default_str("plain");
  app.add_flag("--describe", raw.options.describe,
               "Print what this program is made of as one JSON object, and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion&) {
    return EarlyExit{0, app.version() + "\n"};
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  return Checked(std::move(raw));
}

}  // namespace fetchbench::native
