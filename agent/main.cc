// fetchbench-agent: the daemon that runs a target on this host for a coordinator.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "agent/host_facts.h"
#include "agent/instance_id.h"
#include "agent/memory_limit.h"
#include "agent/options.h"
#include "agent/process/cpu_list.h"
#include "agent/server.h"
#include "common/docker/engine_address.h"
#include "common/grpc_log.h"
#include "common/grpc_tls.h"
#include "common/log.h"
#include "common/process_logger.h"
#include "common/standard_streams.h"

namespace fetchbench::agent {
namespace {

constexpr int kExitInternal = 1;
constexpr int kExitUsage = 2;

// False: the parent is gone already.
bool ExitWithParent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return getppid() == parent;
}

// Targets inherit the limit: ten thousand fetches need as many descriptors.
void RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string Sibling(const char* name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string(name) : (self.parent_path() / name).string();
}

BuildSettings MakeBuildSettings(const Options& options, const std::vector<int>& allowed,
                                uint64_t host_memory) {
  constexpr double kPermille = 1'000;
  BuildSettings build;
  build.network = options.build_network;
  build.time = options.build_time;
  build.require_guard = options.require_guard;
  build.limits.cpuset = fmt::format("{}", fmt::join(allowed, ","));
  build.limits.cpu_permille = static_cast<uint32_t>(options.build_cpus * kPermille);
  if (options.build_memory_bytes != 0) {
    build.limits.memory_bytes = options.build_memory_bytes;
  } else if (host_memory != 0) {
    build.limits.memory_bytes = std::min(build.limits.memory_bytes, host_memory);
  }
  return build;
}

uint64_t MemoryLimit(uint64_t chosen, uint64_t host_memory) {
  const uint64_t to_have = MemoryToHave(host_memory);
  if (chosen == 0) return DefaultMemoryLimit(to_have);
  if (const std::string doubt = DoubtMemoryLimit(chosen, to_have); !doubt.empty()) {
    spdlog::warn("{}", doubt);
  }
  return chosen;
}

AgentConfig MakeConfig(const Options& options, const std::vector<int>& allowed) {
  AgentConfig config;
  config.version = FETCHBENCH_VERSION;
  std::random_device random;
  config.instance_id = MakeInstanceId([&random] { return random(); });
  config.native_path = options.native.empty() ? Sibling("fetchbench-native") : options.native;
  config.entry_path = Sibling("fetchbench-entry");
  config.target_cpus = options.target_cpus;
  config.child_cpus = options.target_cpus.empty() ? allowed : options.target_cpus;
  config.orphan_timeout = options.orphan_timeout;
  config.host = ReadHostFacts(allowed, options.target_cpus);
  config.metrics = options.metrics;
  config.memory_limit_bytes = MemoryLimit(options.memory_limit_bytes, config.host.memory_bytes());
  config.build = MakeBuildSettings(options, allowed, config.host.memory_bytes());
  const absl::StatusOr<std::string> socket = docker::SocketPathFromEnvironment();
  if (socket.ok()) {
    config.docker_socket = *socket;
  } else {
    spdlog::warn("no containers here: {}", std::string(socket.status().message()));
  }
  return config;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Ends the process when stopping takes too long, or at a second signal.
void WatchStop(sigset_t signals) {
  const timespec patience{kStopLimit.count(), 0};
  // A stop and a continuation of the process, or a debugger, interrupt the wait: it begins again
  // then.
  int got = 0;
  do {
    got = sigtimedwait(&signals, nullptr, &patience);
  } while (got < 0 && errno == EINTR);
  // Not spdlog's default logger: this may be while main's end takes that apart.
  ProcessLogger()->error(got > 0 ? "second signal: ending at once"
                                 : "not stopped in time: ending at once");
  std::_Exit(kExitInternal);
}

int Serve(const Options& options, const std::vector<int>& allowed) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread starts
  signal(SIGPIPE, SIG_IGN);  // a target that ends is an error value, not our end
  std::atomic<bool> given_up = false;
  AgentConfig config = MakeConfig(options, allowed);
  config.give_up = [&given_up] {
    given_up = true;
    kill(getpid(), SIGTERM);  // as any other stop: the target must not be left behind
  };
  absl::StatusOr<std::unique_ptr<AgentServer>> server =
      AgentServer::Start(std::move(config), options.listen, options.credentials);
  if (!server.ok()) {
    spdlog::error("{}", std::string(server.status().message()));
    return kExitUsage;
  }
  boost::json::object ready = {{"listen", (*server)->address()}};
  if (const std::string url = (*server)->metrics_url(); !url.empty()) ready["metrics"] = url;
  const absl::Status told = WriteText(STDOUT_FILENO, boost::json::serialize(ready) + "\n");
  if (!told.ok()) spdlog::warn("standard output: {}", std::string(told.message()));
  spdlog::info("listening on {}", (*server)->address());
  int number = 0;
  sigwait(&signals, &number);
  spdlog::info("stopping at signal {}", number);
  std::thread(WatchStop, signals).detach();
  (*server)->Stop();
  return given_up ? kExitInternal : 0;
}

}  // namespace
}  // namespace fetchbench::agent

int main(int argc, char** argv) {
  using namespace fetchbench;         // NOLINT(google-build-using-namespace)
  using namespace fetchbench::agent;  // NOLINT(google-build-using-namespace)
  OpenStandardStreams();
  const ParsedOptions parsed = ParseOptions(argc, argv, FETCHBENCH_VERSION);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  if (const absl::Status s = SetUpLog("agent", options.log_level, options.log_format); !s.ok()) {
    return kExitUsage;
  }
  if (options.exit_with_parent && !ExitWithParent()) return 0;
  RequireTls13();
  KeepOpenSslUntilTheProcessIsGone();
  SendGrpcLog(GrpcLog::kWarnings);
  RaiseOpenFiles();
  const std::vector<int> allowed = AllowedCpus();
  absl::Status cpus = CheckCpus("--target-cpus", options.target_cpus);
  if (cpus.ok()) cpus = CheckCpus("--cpus", options.cpus);
  if (cpus.ok() && !options.cpus.empty()) cpus = RestrictTo(options.cpus);
  if (!cpus.ok()) {
    spdlog::error("{}", std::string(cpus.message()));
    return kExitUsage;
  }
  return Serve(options, allowed);
}
