#include "coordinator/cli/settings.h"

#include <fmt/format.h>

#include <cmath>

#include "coordinator/cli/setting_values.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kMaxUserAgentBytes = 1024;
constexpr size_t kMaxReferenceBytes = 512;

absl::Status SetWeb(const std::string& text, RunOptions& run) {
  if (text == "internet") {
    run.web = Web::kInternet;
    return absl::OkStatus();
  }
  const size_t colon = text.find(':');
  const std::string web = text.substr(0, colon);
  if (web != "sim") {
    return WrongValue(fmt::format("'{}' is none of sim, sim:PROFILE, internet{}", text,
                                  DidYouMean(web, {"sim", "internet"})));
  }
  run.web = Web::kSim;
  if (colon == std::string::npos) return absl::OkStatus();
  return SetPath(text.substr(colon + 1), run.profile);
}

absl::Status SetFormat(const std::string& text, ReportFormat& to) {
  if (const auto format = ParseReportFormat(text)) {
    to = *format;
    return absl::OkStatus();
  }
  std::string none;
  return SetWord(text, {"pretty", "json", "csv", "plain", "records"}, none);
}

absl::Status SetOrigin(const std::string& text, std::string& to) {
  std::string_view address = text;
  if (address.starts_with("http://")) address.remove_prefix(7);
  while (address.ends_with('/')) address.remove_suffix(1);
  auto parsed = ParseAddress(address, "");
  if (!parsed.ok()) return parsed.status();
  to = *std::move(parsed);
  return absl::OkStatus();
}

absl::Status SetTarget(const std::string& text, const TargetRegistry& targets, RunOptions& run) {
  if (!run.target.name.empty()) {
    return WrongValue(
        fmt::format("'{}' is not expected: the target is {} already", text, run.target.name));
  }
  if (const TargetInfo* target = targets.Find(text)) {
    run.target = *target;
    return absl::OkStatus();
  }
  return WrongValue(fmt::format("there is no target '{}'{}; targets: {}", text,
                                DidYouMean(text, targets.Words()),
                                fmt::join(targets.Names(), ", ")));
}

void AddWorkSettings(RunOptions& run, const TargetRegistry& targets, std::vector<Setting>& s) {
  s.push_back({"--target", "NAME", "",
               "The client program to measure, by name or alias; `coordinator targets` lists them. "
               "The same as TARGET.",
               false,
               [&run, &targets](const std::string& t) { return SetTarget(t, targets, run); }});
  s.push_back(
      {"--urls", "FILE", "",
       "The list: one URL a line, or - for standard input (default). Blank lines and lines "
       "that begin with # are skipped; without a scheme, https is assumed. A line that is no "
       "URL is recorded as invalid_url and stops nothing.",
       false, [&run](const std::string& t) { return SetPath(t, run.urls); }});
  s.push_back({"--limit", "N", "LIMIT", "Use the first N URLs only. Default: all.", false,
               [&run](const std::string& t) {
                 return SetNumber(t, 1, std::numeric_limits<uint64_t>::max(), run.limit);
               }});
  s.push_back({"--concurrency", "N", "CONCURRENCY",
               "Requests in flight at most, for each agent. Default: the target's own.", false,
               [&run](const std::string& t) {
                 return SetNumber(t, kConcurrencies.least, kConcurrencies.most, run.concurrency);
               }});
  s.push_back({"--per-host", "N", "",
               "Requests to one host at once, over all agents: all URLs of a host go to one agent "
               "at a time. Of redirects, only the first request counts. 0: no limit. Default: 2 "
               "with --web internet, else 0.",
               false, [&run](const std::string& t) {
                 return SetNumber(t, kPerHosts.least, kPerHosts.most, run.per_host.emplace());
               }});
  s.push_back({"--timeout", "SECONDS", "REQUEST_TIMEOUT",
               "Deadline of one request, from before DNS to the last byte of the body, redirects "
               "included. Default: 5.",
               false,
               [&run](const std::string& t) { return SetSeconds(t, kTimeouts, run.timeout); }});
  s.push_back({"--duration", "SECONDS", "DURATION",
               "Stop after this time; requests under way are recorded as cancelled. Reaching it is "
               "a normal end. Default: 0, no limit.",
               false,
               [&run](const std::string& t) { return SetSeconds(t, kAnySeconds, run.duration); }});
  s.push_back(
      {"--user-agent", "TEXT", "USER_AGENT", "User-Agent header. Default: fetchbench/VERSION.",
       false,
       [&run](const std::string& t) { return SetText(t, kMaxUserAgentBytes, run.user_agent); }});
  s.push_back(
      {"--max-body", "BYTES", "",
       "A longer body ends the request as body_too_large. Default: the target's own, 256 MiB "
       "for native.",
       false, [&run](const std::string& t) {
         return SetNumber(t, kBodyBytes.least, kBodyBytes.most, run.max_body_bytes);
       }});
  s.push_back({"--threads", "N", "", "Threads of the target. Default: one for each of its CPUs.",
               false, [&run](const std::string& t) {
                 return SetNumber(t, kThreadCounts.least, kThreadCounts.most, run.threads);
               }});
}

// "512m", "2g" -> bytes; without a letter they are bytes.
absl::Status SetMemory(const std::string& text, uint64_t& to) {
  constexpr std::string_view kUnits = "bkmg";
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back() | 0x20);
  const size_t digits = text.size() - (unit == std::string_view::npos ? 0 : 1);
  const unsigned shift = unit == std::string_view::npos ? 0 : 10 * static_cast<unsigned>(unit);
  uint64_t value = 0;
  if (!SetNumber(text.substr(0, digits), 1, kMemoryBytes.most >> shift, value).ok() ||
      (value << shift) < kMemoryBytes.least) {
    return WrongValue(
        fmt::format("'{}' is no amount of memory: 512m or 2g, from 6m to 1024g", text));
  }
  to = value << shift;
  return absl::OkStatus();
}

absl::Status SetCpus(const std::string& text, RunOptions& run) {
  const std::optional<double> cpus = ParseDecimal(text, kCpus.least, kCpus.most);
  if (!cpus) {
    return WrongValue(fmt::format("'{}' is not a number of CPUs from {} to {} (decimals are fine)",
                                  text, kCpus.least, kCpus.most));
  }
  run.cpu_permille = static_cast<uint32_t>(std::lround(*cpus * 1000));
  return absl::OkStatus();
}

absl::Status SetCpuset(const std::string& text, RunOptions& run) {
  const bool plausible = !text.empty() && text.front() != ',' && text.back() != ',' &&
                         text.find_first_not_of("0123456789,-") == std::string::npos;
  if (!plausible)
    return WrongValue(fmt::format("'{}' is no list of CPUs such as 1 or 0,2-3", text));
  run.cpuset = text;
  return absl::OkStatus();
}

absl::Status AddBuildArgument(const std::string& text, RunOptions& run) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return WrongValue(fmt::format("'{}' is not NAME=VALUE", text));
  }
  run.build_arguments[text.substr(0, equals)] = text.substr(equals + 1);
  return absl::OkStatus();
}

void AddContainerSettings(RunOptions& run, std::vector<Setting>& s) {
  s.push_back({"--image", "REFERENCE", "",
               "Container targets: run this image, which the agents' Docker Engine has already, "
               "instead of building one from the target's folder.",
               false,
               [&run](const std::string& t) { return SetText(t, kMaxReferenceBytes, run.image); }});
  s.push_back({"--build-arg", "NAME=VALUE", "",
               "Container targets: an argument of the Dockerfile. Base images are named in "
               "build/base-images.json, if it is there.",
               true, [&run](const std::string& t) { return AddBuildArgument(t, run); }});
  s.push_back({"--cpus", "N", "", "Container targets: CPU time they get, in CPUs. Default: 1.",
               false, [&run](const std::string& t) { return SetCpus(t, run); }});
  s.push_back({"--cpuset", "LIST", "",
               "Container targets: CPUs they run on, such as 1 or 0,2-3. Default: the agent's "
               "choice, the last CPU for an agent on this machine.",
               false, [&run](const std::string& t) { return SetCpuset(t, run); }});
  s.push_back({"--memory", "SIZE", "",
               "Container targets: memory they get, 512m or 2g. Default: 2g.", false,
               [&run](const std::string& t) { return SetMemory(t, run.memory_bytes); }});
}

Setting InventorySetting(Options& options, std::string help) {
  return {"--inventory", "FILE", "", std::move(help), false, [&options](const std::string& t) {
            return SetPath(t, options.inventory);
          }};
}

Setting CredentialsSetting(CredentialsFolders& credentials) {
  return {
      "--credentials",
      "DIR",
      "",
      "Folder of an operator's credentials (ca.crt, tls.crt, tls.key), by which agents know who "
      "dials them: for all agents but those on Unix sockets. Default: "
      "~/.config/fetchbench/credentials, where `bin/pki init` puts them, for agents that are "
      "not on this machine.",
      false,
      [&credentials](const std::string& t) { return SetPath(t, credentials.named); }};
}

void AddPlaceSettings(Options& options, std::vector<Setting>& s) {
  RunOptions& run = options.run;
  s.push_back({"--web", "WEB", "",
               "sim: the simulated web (default, profile published); sim:PROFILE: with another "
               "profile, by name or file; internet: the real one.",
               false, [&run](const std::string& t) { return SetWeb(t, run); }});
  s.push_back({"--seed", "N", "", "Seed of the simulated web. Default: 1.", false,
               [&run](const std::string& t) {
                 return SetNumber(t, 0, std::numeric_limits<uint64_t>::max(), run.seed);
               }});
  s.push_back({"--origin", "HOST:PORT", "",
               "Control endpoint of an origin that runs already, for agents on other hosts. "
               "Default: one is started beside the coordinator.",
               false, [&run](const std::string& t) { return SetOrigin(t, run.origin); }});
  s.push_back({"--allow-private", "", "",
               "With --web internet: do not refuse private, loopback, link-local and metadata "
               "addresses. Containers then need no fetchbench-guard on the agents' hosts.",
               false, [&run](const std::string&) {
                 run.allow_private = true;
                 return absl::OkStatus();
               }});
  s.push_back(
      {"--agents", "ADDRESS,...", "",
       "Agents to use: HOST:PORT (port 7311 if left out), [IPV6]:PORT, unix:PATH; before it, if "
       "wanted, NAME=. Default: one is started on this machine and stopped afterwards.",
       true, [&run](const std::string& t) { return AddAgents(t, run.agents); }});
  s.push_back(InventorySetting(
      options,
      "Take the agents of this inventory: one host a line, NAME ADDRESS[:PORT]. `default`: "
      "./deploy/inventory or else ~/.config/fetchbench/inventory."));
  s.push_back(CredentialsSetting(run.credentials));
  s.push_back({"--connect-timeout", "SECONDS", "",
               "How long to wait for the agents, and for the origin that --origin names, at the "
               "beginning. A target that is being started then has 60 s more. Default: 5.",
               false, [&run](const std::string& t) {
                 return SetSeconds(t, kConnectTimeouts, run.connect_timeout);
               }});
  s.push_back({"--grace", "SECONDS", "",
               "How long an agent may stay away before its URLs go to others. Default: 15.", false,
               [&run](const std::string& t) { return SetSeconds(t, kAnySeconds, run.grace); }});
  s.push_back({"--silence", "SECONDS", "",
               "An agent that says nothing for so long counts as away. Agents report every second. "
               "Default: 10.",
               false,
               [&run](const std::string& t) { return SetSeconds(t, kSilences, run.silence); }});
  s.push_back({"--give-up-after", "SECONDS", "",
               "End the run when no agent has been there for so long; it can be resumed. Default: "
               "0, it waits until one returns.",
               false, [&run](const std::string& t) {
                 return SetSeconds(t, kAnySeconds, run.give_up_after);
               }});
}

void AddOutputSettings(RunOptions& run, std::vector<Setting>& s) {
  s.push_back({"--format", "FORMAT", "FORMAT",
               "What standard output gets. pretty: a table (default); json; csv; plain: one record "
               "line a URL as it comes, url,code,start_time,duration,body_length, and no summary; "
               "records: coloured record lines, then the table. FORMAT=result means json.",
               false, [&run](const std::string& t) { return SetFormat(t, run.format); }});
  s.push_back({"--out", "DIR", "", "Where run folders go. Default: out.", false,
               [&run](const std::string& t) { return SetPath(t, run.out); }});
  s.push_back({"--progress", "MODE", "",
               "Live display on standard error. auto (default): on a terminal, else a plain line "
               "every few seconds; tty; plain; none.",
               false, [&run](const std::string& t) {
                 return SetWord(t, {"auto", "tty", "plain", "none"}, run.progress);
               }});
  s.push_back({"--log-level", "LEVEL", "", "error, warn (default), info, debug.", false,
               [&run](const std::string& t) {
                 return SetWord(t, {"error", "warn", "info", "debug"}, run.log_level);
               }});
  s.push_back({"--log-format", "FORMAT", "",
               "text (default), or json: each line that standard error gets is one JSON object, "
               "beside a live display on a terminal.",
               false, [&run](const std::string& t) {
                 return SetWord(t, {"text", "json"}, run.log_format);
               }});
  s.push_back(MetricsSetting(run));
}

}  // namespace

std::vector<Setting> RunSettings(Options& options, const TargetRegistry& targets) {
  std::vector<Setting> settings;
  AddWorkSettings(options.run, targets, settings);
  AddContainerSettings(options.run, settings);
  AddPlaceSettings(options, settings);
  AddOutputSettings(options.run, settings);
  return settings;
}

Setting TargetWord(Options& options, const TargetRegistry& targets) {
  RunOptions& run = options.run;
  return {"TARGET", "",
          "",       "",
          false,    [&run, &targets](const std::string& t) { return SetTarget(t, targets, run); }};
}

Setting FileWord(Options& options) {
  std::string& file = options.import.file;
  return {"FILE", "", "", "", false, [&file](const std::string& t) { return SetPath(t, file); }};
}

std::vector<Setting> AgentSettings(Options& options) {
  auto& agents = options.agents;
  return {
      {"--agents", "ADDRESS,...", "",
       "Agents to ask: HOST:PORT (port 7311 if left out), [IPV6]:PORT, unix:PATH; before it, if "
       "wanted, NAME=. Default: those of the inventory.",
       true, [&agents](const std::string& t) { return AddAgents(t, agents); }},
      InventorySetting(options,
                       "File with one host a line, NAME ADDRESS[:PORT]. Default: "
                       "./deploy/inventory, else ~/.config/fetchbench/inventory, else an agent at "
                       "127.0.0.1:7311."),
      CredentialsSetting(options.run.credentials)};
}

Setting AgentsFormatSetting(Options& options) {
  return {"--format",
          "FORMAT",
          "",
          "pretty (default): a table, or a line for each agent where standard output is no "
          "terminal; json.",
          false,
          [&options](const std::string& t) {
            return SetChoice<AgentsFormat>(
                t, {{"pretty", AgentsFormat::kPretty}, {"json", AgentsFormat::kJson}},
                options.agents_format);
          }};
}

std::vector<Setting> ImportSettings(Options& options) {
  auto& import = options.import;
  return {{"--input-format", "FORMAT", "",
           "auto (default): by its first line; domcop, tranco, umbrella, majestic, crux.", false,
           [&import](const std::string& t) {
             return SetWord(t, {"auto", "domcop", "tranco", "umbrella", "majestic", "crux"},
                            import.format);
           }}};
}

}  // namespace fetchbench::coordinator
