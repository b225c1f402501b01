#include "agent/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "absl/status/statusor.h"
#include "agent/memory_limit.h"
#include "agent/process/cpu_list.h"
#include "common/command_line_end.h"
#include "common/metrics.h"

namespace fetchbench::agent {
namespace {

constexpr int kExitUsage = 2;
constexpr double kLongestOrphanSeconds = 7 * 24 * 3600;
constexpr double kLeastBuildCpus = 0.01;  // the Engine's own bound
constexpr double kMostBuildCpus = 1024;
constexpr uint64_t kLeastBuildMib = 6;  // the Engine's own bound
constexpr uint64_t kMostBuildMib = 1 << 20;
constexpr uint64_t kLeastMemoryMib = kLeastMemoryLimitBytes >> 20;
constexpr uint64_t kMostMemoryMib = 1 << 20;
constexpr double kLongestBuildSeconds = 24 * 3600;

// A CLI11 check that accepts what ParseCpuList does.
std::string CheckCpuList(const std::string& text) {
  const auto cpus = ParseCpuList(text);
  return cpus.ok() ? std::string() : std::string(cpus.status().message());
}

std::string CheckMetricsAddress(const std::string& text) {
  const auto address = ParseMetricsAddress(text);
  return address.ok() ? std::string() : std::string(address.status().message());
}

// CLI11 reads numbers as C does, so 0100 would be 64.
std::string CheckMib(const std::string& text, uint64_t least, uint64_t most) {
  uint64_t mib = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), mib);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (whole && !text.starts_with('0') && mib >= least && mib <= most) return {};
  return fmt::format("'{}' is not a whole number of MiB from {} to {}, in decimal digits alone",
                     text, least, most);
}

CLI::Validator Mib(uint64_t least, uint64_t most) {
  return {[least, most](const std::string& text) { return CheckMib(text, least, most); }, "MIB"};
}

// CLI::Range takes a number that is none for one within it.
CLI::Validator Between(double least, double most) {
  return {[least, most](const std::string& text) {
            double value = 0;
            const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
            if (whole && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is not a number from {} to {}", text, least, most);
          },
          fmt::format("[{} - {}]", least, most)};
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv, const std::string& version) {
  Options options;
  std::string target_cpus;
  std::string cpus;
  double orphan_seconds = std::chrono::duration<double>(options.orphan_timeout).count();
  double build_seconds = std::chrono::duration<double>(options.build_time).count();
  uint64_t build_mib = 0;
  uint64_t memory_mib = 0;
  CLI::App app(
      "fetchbench agent: runs a target on this host for a coordinator that dials in.\n"
      "When it is ready it prints one JSON line, {\"listen\":\"HOST:PORT\"}, on standard output.\n"
      "Whoever can connect can start runs. On anything but loopback and a Unix socket it takes\n"
      "operators of its fleet only, by mutual TLS; on loopback without TLS it runs no containers.",
      "fetchbench-agent");
  app.set_version_flag("--version", version);
  app.add_option("--listen", options.listen,
                 "Where to listen: HOST:PORT (port 0: one that is free), or unix:PATH in a folder "
                 "of mode 0700")
      ->capture_default_str();
  app.add_option("--credentials", options.credentials,
                 "Folder with ca.crt, tls.crt, tls.key of this host, as `bin/pki host NAME` makes "
                 "it [/etc/fetchbench/tls, for what is not loopback or a Unix socket]");
  app.add_option("--native", options.native,
                 "The program of target 'native' [fetchbench-native beside this program]");
  app.add_option("--target-cpus", target_cpus,
                 "CPUs that targets run on, as in 1 or 2-3 [not pinned]")
      ->check(CheckCpuList);
  app.add_option("--cpus", cpus, "CPUs that this daemon runs on [not pinned]")->check(CheckCpuList);
  app.add_option("--orphan-timeout", orphan_seconds,
                 "Seconds without a coordinator after which a run is dropped")
      ->check(Between(0.1, kLongestOrphanSeconds))
      ->capture_default_str();
  app.add_option(
         "--build-network", options.build_network,
         "Network of the RUN steps of image builds, as in host [public addresses only where "
         "fetchbench-guard is in force, else the Engine's default]")
      ->envname("FETCHBENCH_BUILD_NETWORK");
  app.add_option("--build-cpus", options.build_cpus, "CPUs that an image build may use, as in 1.5")
      ->check(Between(kLeastBuildCpus, kMostBuildCpus));
  app.add_option("--build-memory", build_mib,
                 "MiB that a step of an image build may use [4096, or what the host has]")
      ->check(Mib(kLeastBuildMib, kMostBuildMib));
  app.add_option("--build-timeout", build_seconds, "Seconds after which an image build is ended")
      ->check(Between(1.0, kLongestBuildSeconds))
      ->capture_default_str();
  app.add_flag("--require-guard", options.require_guard,
               "Build no image where fetchbench-guard is not in force");
  app.add_option(
         "--memory-limit", memory_mib,
         "MiB of memory of this daemon, targets aside, above which it hangs up on everybody "
         "who is connected; URLs that it is lent take a quarter of it [512, or half of what it may "
         "have if that is less]")
      ->check(Mib(kLeastMemoryMib, kMostMemoryMib));
  app.add_flag("--exit-with-parent", options.exit_with_parent,
               "End when the thread that started this program ends");
  app.add_option("--metrics", options.metrics,
                 "Serve figures for Prometheus at http://HOST:PORT/metrics; a PORT alone is one of "
                 "127.0.0.1 [not served]")
      ->check(CheckMetricsAddress);
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--log-format", options.log_format,
                 "text, or json: one object a line on standard error")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return {std::nullopt, EndOfCommandLine("fetchbench-agent", app, e, kExitUsage)};
  }
  options.target_cpus = *ParseCpuList(target_cpus);
  options.cpus = *ParseCpuList(cpus);
  options.orphan_timeout = std::chrono::milliseconds(std::llround(orphan_seconds * 1000));
  options.build_time = std::chrono::milliseconds(std::llround(build_seconds * 1000));
  options.build_memory_bytes = build_mib << 20;
  options.memory_limit_bytes = memory_mib << 20;
  return {std::move(options), 0};
}

}  // namespace fetchbench::agent
