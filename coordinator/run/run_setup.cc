#include "coordinator/run/run_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>

#include "common/docker/engine_address.h"
#include "common/loopback.h"
#include "coordinator/host/socket_folder.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kReadyLimit{20};
constexpr std::chrono::milliseconds kReadyPoll{5};
constexpr uint32_t kProgressIntervalMs = 1000;

// The member `name` of the JSON object that the child prints when it is ready.
Task<absl::StatusOr<std::string>> WaitReady(net::any_io_executor loop, ChildProcess& child,
                                            std::string name, Stopped stopped) {
  net::steady_timer timer(loop);
  const auto deadline = std::chrono::steady_clock::now() + kReadyLimit;
  while (true) {
    auto line = child.PollReadiness();
    if (!line.ok()) co_return line.status();
    if (line->has_value()) {
      boost::system::error_code error;
      const json::value value = json::parse(**line, error);
      const json::value* member =
          !error && value.is_object() ? value.get_object().if_contains(name) : nullptr;
      if (member != nullptr && member->is_string()) co_return std::string(member->get_string());
      co_return absl::InternalError(fmt::format("{} said '{}' instead of its address", child.name(),
                                                (*line)->substr(0, 100)));
    }
    if (stopped()) co_return absl::CancelledError("stopped by the user");
    if (std::chrono::steady_clock::now() > deadline) {
      co_return absl::DeadlineExceededError(
          fmt::format("{} did not get ready within {} s", child.name(), kReadyLimit.count()));
    }
    timer.expires_after(kReadyPoll);
    co_await timer.async_wait(kAsTuple);
  }
}

std::string WithoutScheme(std::string address) {
  constexpr std::string_view kScheme = "http://";
  return address.starts_with(kScheme) ? address.substr(kScheme.size()) : address;
}

std::string OriginProgram() { return ProgramFolder() + "/fetchbench-origin"; }

std::vector<std::string> OriginArguments(const RunOptions& options) {
  return {OriginProgram(),
          "--profile",
          options.profile,
          "--seed",
          fmt::format("{}", options.seed),
          "--control",
          "127.0.0.1:0",
          "--log-level",
          options.log_level,
          "--log-format",
          options.log_format,
          "--exit-with-parent"};
}

// A container knows of DNS servers on port 53 and of no other ports than those of its URLs.
absl::Status CheckForContainers(const OriginConfig& config, const std::string& address) {
  const bool standard = config.dns.ends_with(":53") &&
                        config.connect_to == std::vector<std::string>{":80::80", ":443::443"};
  if (standard) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the origin at {} serves DNS at {} and hosts by {}: a container target can use "
                  "ports 53, 80 and 443 only; start it with --dns-port 53 --http-port 80 "
                  "--https-port 443 and --listen addresses that containers reach",
                  address, config.dns, fmt::join(config.connect_to, " ")));
}

// What the origin tells of itself.
Task<absl::Status> ReadWeb(SimulatedWeb& web, const RunOptions& options) {
  auto config = co_await web.client->Config();
  if (!config.ok()) co_return config.status();
  web.config = *std::move(config);
  auto ca_pem = co_await web.client->CaPem();
  if (!ca_pem.ok()) co_return ca_pem.status();
  web.ca_pem = *std::move(ca_pem);
  if (!options.target.is_container()) co_return absl::OkStatus();
  co_return CheckForContainers(web.config, web.client->address());
}

void SetContainerOptions(const RunOptions& options, const SimulatedWeb* web,
                         v1::ContainerOptions& container) {
  container.set_cpu_permille(options.cpu_permille);
  container.set_cpuset(options.cpuset);
  container.set_memory_bytes(options.memory_bytes);
  const bool joins = web != nullptr && web->container != nullptr;
  container.set_network_mode(joins ? web->container->network_mode() : "bridge");
}

}  // namespace

LocalAgent::~LocalAgent() {
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

Task<absl::StatusOr<SimulatedWeb>> SetUpWeb(net::any_io_executor loop, const RunOptions& options,
                                            const Placement& placement, std::string run_id,
                                            std::string run_folder, Stopped stopped) {
  SimulatedWeb web;
  std::string address = options.origin;
  if (address.empty() && options.target.is_container()) {
    const auto socket = docker::SocketPathFromEnvironment();
    if (!socket.ok()) co_return socket.status();
    OriginContainerPlan plan;
    plan.run_id = std::move(run_id);
    plan.profile = options.profile;
    plan.profile_folder = std::move(run_folder);
    plan.seed = options.seed;
    plan.cpus = placement.others;
    plan.program = OriginProgram();
    plan.profiles = FETCHBENCH_SOURCE "/data/profiles";
    docker::EngineClient engine(loop, *socket);
    auto container = co_await OriginContainer::Start(std::move(engine), std::move(plan), stopped);
    if (!container.ok()) co_return container.status();
    web.container = *std::move(container);
    address = web.container->control();
  } else if (address.empty()) {
    auto child = ChildProcess::Start(OriginArguments(options), placement.others);
    if (!child.ok()) co_return child.status();
    web.process = *std::move(child);
    auto control = co_await WaitReady(loop, *web.process, "control", stopped);
    if (!control.ok()) co_return control.status();
    address = WithoutScheme(*std::move(control));
  }
  web.client = std::make_unique<OriginClient>(loop, address);
  // One of our own is there or will never be.
  if (!options.origin.empty()) {
    web.client->set_patience({options.connect_timeout, std::move(stopped)});
  }
  absl::Status status = co_await ReadWeb(web, options);
  if (!status.ok()) {
    if (web.container) co_await web.container->Remove();
    co_return status;
  }
  co_return std::move(web);
}

Task<absl::StatusOr<LocalAgent>> StartLocalAgent(net::any_io_executor loop,
                                                 const Placement& placement,
                                                 const RunOptions& options, Stopped stopped) {
  auto made = MakeSocketFolder();
  if (!made.ok()) co_return made.status();
  const std::string folder = *std::move(made);
  std::vector<std::string> arguments{ProgramFolder() + "/fetchbench-agent",
                                     "--listen",
                                     fmt::format("unix:{}/agent", folder),
                                     "--exit-with-parent",
                                     "--log-level",
                                     options.log_level,
                                     "--log-format",
                                     options.log_format};
  if (!placement.target.empty()) {
    arguments.insert(arguments.end(), {"--target-cpus", CpuListText(placement.target), "--cpus",
                                       CpuListText(placement.others)});
  }
  // Not pinned from here: the agent must be able to give its target another CPU than its own.
  auto child = ChildProcess::Start(arguments, AllCpusOf(placement));
  if (!child.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    co_return child.status();
  }
  LocalAgent agent(*std::move(child), folder, fmt::format("unix:{}/agent", folder));
  auto listen = co_await WaitReady(loop, agent.process(), "listen", std::move(stopped));
  if (!listen.ok()) co_return listen.status();
  co_return std::move(agent);
}

v1::Start MakeStart(const std::string& run_id, const RunOptions& options,
                    const v1::TargetSpec& target, const SimulatedWeb* web) {
  v1::Start start;
  start.set_run_id(run_id);
  start.set_version(FETCHBENCH_VERSION);
  *start.mutable_target() = target;
  start.set_progress_interval_ms(kProgressIntervalMs);
  v1::FetchOptions& fetch = *start.mutable_options();
  fetch.set_concurrency(options.concurrency);
  fetch.set_per_host(options.per_host.value_or(0));
  fetch.set_timeout_ms(static_cast<uint32_t>(options.timeout.count()));
  fetch.set_user_agent(options.user_agent.empty() ? "fetchbench/" FETCHBENCH_VERSION
                                                  : options.user_agent);
  fetch.set_max_body_bytes(options.max_body_bytes);
  fetch.set_threads(options.threads);
  // A child process refuses them itself; a container is kept from them by its network.
  fetch.set_deny_private_addresses(options.web == Web::kInternet && !options.allow_private);
  if (web != nullptr) {
    fetch.set_resolver(web->config.dns);
    fetch.set_ca_pem(web->ca_pem);
    if (!options.target.is_container()) {
      for (const std::string& rule : web->config.connect_to) fetch.add_connect_to(rule);
    }
  }
  if (options.target.is_container()) {
    if (web != nullptr && web->container == nullptr) fetch.set_origin(HostOf(web->config.dns));
    SetContainerOptions(options, web, *start.mutable_container());
  }
  return start;
}

}  // namespace fetchbench::coordinator
