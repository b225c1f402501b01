// fetchbench-origin: the simulated web as a program of its own.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <string>

#include "common/command_line_end.h"
#include "common/log.h"
#include "common/spawn.h"
#include "common/standard_streams.h"
#include "origin/origin.h"

namespace {

using fetchbench::origin::Options;
using fetchbench::origin::Origin;

constexpr int kInternalError = 1;
constexpr int kUsageError = 2;

void Describe(CLI::App& app, Options& o) {
  app.add_option("--profile", o.profile, "Name of a profile, or a JSON file");
  app.add_option("--profiles-dir", o.profiles_dir, "Where profile names are looked up");
  app.add_option("--seed", o.seed, "Another seed is another web of the same kind");
  app.add_option("--addresses", o.addresses, "Loopback addresses that hosts are spread over")
      ->check(CLI::Range(1, 65'536));
  app.add_option("--first-address", o.first_address, "The first of them");
  app.add_option("--listen", o.listen, "Serve on these addresses instead (repeatable)");
  app.add_option("--refusing-address", o.refusing_address,
                 "Where hosts that refuse connections live; nothing may listen there");
  app.add_option("--black-hole-address", o.black_hole_address,
                 "Where hosts that never accept live; must be this machine's");
  app.add_option("--dns-port", o.dns_port, "UDP and TCP; 0: a free one");
  app.add_option("--http-port", o.http_port, "0: a free one");
  app.add_option("--https-port", o.https_port, "0: a free one");
  app.add_option("--control", o.control,
                 "Control endpoint: ADDRESS:PORT (port 0: a free one), or unix:PATH");
  app.add_option("--max-connections", o.max_connections, "More are closed as they come")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--exit-with-parent", o.exit_with_parent, "End when the starting process ends");
  app.add_flag("--exit-at-eof", o.exit_at_eof,
               "End when standard input ends: in a container there is no parent to watch");
  app.add_option("--log-level", o.log_level, "What goes to standard error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
  app.add_option("--log-format", o.log_format, "text, or json: one object a line")
      ->check(CLI::IsMember({"text", "json"}));
}

void ExitWithParent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);  // it ended in between
}

// Standard input says nothing that matters but its end.
fetchbench::Task<> StopAtEof(boost::asio::posix::stream_descriptor& input, Origin& origin) {
  std::array<char, 256> ignored{};
  while (true) {
    auto [error, n] =
        co_await input.async_read_some(boost::asio::buffer(ignored), fetchbench::kAsTuple);
    if (error == boost::asio::error::operation_aborted) co_return;
    if (error) break;
  }
  origin.Stop();
}

int Serve(const Options& options) {
  const fetchbench::SystemClock clock;
  auto origin = Origin::Create(options, clock);
  if (!origin.ok()) {
    spdlog::error("{}", std::string(origin.status().message()));
    return absl::IsInternal(origin.status()) ? kInternalError : kUsageError;
  }
  const std::string warning = ReachWarning((*origin)->world().addresses());
  if (!warning.empty()) spdlog::warn("{}", warning);
  boost::asio::signal_set signals((*origin)->io(), SIGTERM, SIGINT);
  signals.async_wait([&origin](const boost::system::error_code& ec, int) {
    if (!ec) (*origin)->Stop();
  });
  boost::asio::posix::stream_descriptor input((*origin)->io());
  if (options.exit_at_eof) {
    boost::system::error_code error;
    input.assign(STDIN_FILENO, error);
    if (error) {
      spdlog::error("--exit-at-eof: standard input: {}", error.message());
      return kUsageError;
    }
    fetchbench::Spawn((*origin)->io().get_executor(), "watching standard input",
                      StopAtEof(input, **origin));
  }
  const absl::Status told = fetchbench::WriteText(
      STDOUT_FILENO, fmt::format("{{\"control\":\"{}\"}}\n", (*origin)->control_url()));
  if (!told.ok()) spdlog::warn("standard output: {}", std::string(told.message()));
  (*origin)->Run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  fetchbench::OpenStandardStreams();
  CLI::App app("The simulated web: DNS, HTTP and HTTPS for any host name, by a seeded profile.",
               "fetchbench-origin");
  Options options;
  options.profiles_dir = FETCHBENCH_PROFILES_DIR;
  app.option_defaults()->always_capture_default();
  app.set_version_flag("--version", "fetchbench-origin " FETCHBENCH_VERSION);
  Describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return fetchbench::EndOfCommandLine("fetchbench-origin", app, e, kUsageError);
  }
  if (!fetchbench::SetUpLog("origin", options.log_level, options.log_format).ok()) {
    return kUsageError;
  }
  if (options.exit_with_parent) ExitWithParent();
  return Serve(options);
}
