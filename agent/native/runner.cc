#include "agent/native/runner.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/native/fd_limit.h"
#include "agent/native/host_addresses.h"
#include "agent/native/url_reader.h"
#include "agent/native/worker.h"
#include "common/standard_streams.h"
#include "common/stop_event.h"

namespace fetchbench::native {
namespace {

constexpr int kInternalError = 1;

void Complain(const std::string& what) {
  WriteText(STDERR_FILENO, fmt::format("fetchbench-native: {}\n", what)).IgnoreError();
}
constexpr int kUsageError = 2;
constexpr int kSignalBase = 128;
constexpr size_t kMinQueue = 16;
// After a signal the process is gone by then, even if nobody reads its records.
constexpr int kSignalPatienceMs = 900;

size_t UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<size_t>(std::max(CPU_COUNT(&set), 1));
}

// Whether this machine has a route to the IPv6 Internet. Connecting a UDP socket sends nothing.
bool HasIpv6Route() {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(53);
  inet_pton(AF_INET6, "2001:4860:4860::8888", &address.sin6_addr);
  const bool routed =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return routed;
}

bool AskIpv6(IpVersion version) {
  if (version == IpVersion::kAuto) return HasIpv6Route();
  return version == IpVersion::kBoth;
}

FetchPolicy PolicyOf(const Options& options) {
  FetchPolicy policy;
  policy.timeout = options.timeout;
  policy.user_agent = options.user_agent;
  policy.max_body = options.max_body;
  policy.max_redirects = options.max_redirects;
  for (const std::string& rule : options.connect_to) {
    if (!policy.connect_to.Add(rule).ok()) continue;  // ParseOptions refused bad ones
  }
  if (options.resolver.empty()) policy.hosts = HostsFile::Load("/etc/hosts");
  return policy;
}

// SIGINT and SIGTERM as a descriptor, blocked in this and all later threads.
int OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// One run: threads, and what they share.
class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        threads_(
            std::min(options.threads == 0 ? UsableCpus() : options.threads, options.concurrency)),
        policy_(PolicyOf(options)),
        run_clock_(clock_),
        queue_(std::max(options.concurrency, kMinQueue)),
        writer_(STDOUT_FILENO, [this] { Fail("standard output was closed"); }) {}

  absl::Status Prepare();
  int Execute(int signals);

 private:
  WorkerOptions OptionsOf(size_t worker, bool ask_ipv6) const;
  void Fail(const std::string& why);
  void Cancel();
  void Read();
  // The signal that ended the run, if one did.
  std::optional<int> Supervise(int signals);
  int WaitForEnd(int signals, int signal);

  const Options& options_;
  size_t threads_;
  SystemClock clock_;
  FetchPolicy policy_;
  RunClock run_clock_;
  UrlQueue queue_;
  StopEvent stop_reading_;
  StopEvent ended_;
  std::mutex mutex_;
  std::string failure_;  // guarded by mutex_
  RecordWriter writer_;
  std::optional<TrustStore> trust_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

WorkerOptions Run::OptionsOf(size_t worker, bool ask_ipv6) const {
  WorkerOptions out;
  out.slots = options_.concurrency / threads_ + (worker < options_.concurrency % threads_ ? 1 : 0);
  out.format = options_.format;
  out.resolver = options_.resolver;
  out.ask_ipv6 = ask_ipv6;
  return out;
}

absl::Status Run::Prepare() {
  const auto needed = DescriptorsNeeded(options_.concurrency, threads_);
  if (const absl::Status s = RaiseFdLimit(needed); !s.ok()) return s;
  auto trust = TrustStore::Load(options_.ca_file);
  if (!trust.ok()) return trust.status();
  trust_ = *std::move(trust);
  if (options_.deny_private) {
    const auto own = HostAddresses();
    if (!own.ok()) return own.status();
    policy_.public_only.emplace(*own);
  }
  const bool ask_ipv6 = AskIpv6(options_.ip_version);
  for (size_t i = 0; i < threads_; ++i) {
    auto worker = Worker::Create(OptionsOf(i, ask_ipv6), policy_, *trust_, clock_, run_clock_,
                                 queue_, writer_, [this](const std::string& why) { Fail(why); });
    if (!worker.ok()) return worker.status();
    workers_.push_back(*std::move(worker));
  }
  return absl::OkStatus();
}

void Run::Cancel() {
  stop_reading_.Set();
  queue_.Abandon();
  for (const auto& worker : workers_) worker->Cancel();
}

void Run::Fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
  }
  Cancel();
}

void Run::Read() {
  const absl::Status status = ReadUrls(STDIN_FILENO, stop_reading_, queue_);
  if (!status.ok()) Fail(std::string(status.message()));
  queue_.Close();
}

std::optional<int> Run::Supervise(int signals) {
  std::array<pollfd, 2> polled = {pollfd{signals, POLLIN, 0}, pollfd{ended_.fd(), POLLIN, 0}};
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) return std::nullopt;
    signalfd_siginfo info{};
    if (read(signals, &info, sizeof(info)) != sizeof(info)) continue;
    return static_cast<int>(info.ssi_signo);
  }
}

// After a signal: until everything is over, a second signal, or the end of patience.
int Run::WaitForEnd(int signals, int signal) {
  std::array<pollfd, 2> polled = {pollfd{signals, POLLIN, 0}, pollfd{ended_.fd(), POLLIN, 0}};
  const int n = poll(polled.data(), polled.size(), kSignalPatienceMs);
  if (n == 0 || polled[0].revents != 0) _exit(kSignalBase + signal);
  return kSignalBase + signal;
}

int Run::Execute(int signals) {
  std::thread reader([this] { Read(); });
  std::vector<std::thread> threads;
  threads.reserve(workers_.size());
  for (const auto& worker : workers_) {
    threads.emplace_back([&worker] { worker->Run(); });
  }
  std::thread closer([this, &threads, &reader] {
    for (std::thread& thread : threads) thread.join();
    stop_reading_.Set();
    queue_.Abandon();
    reader.join();
    writer_.Close();
    ended_.Set();
  });
  int code = 0;
  if (const std::optional<int> signal = Supervise(signals)) {
    Cancel();
    code = WaitForEnd(signals, *signal);
  }
  closer.join();
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) return code;
  Complain(failure_);
  return kInternalError;
}

}  // namespace

int RunTarget(const Options& options) {
  const int signals = OpenSignals();
  if (signals < 0) {
    Complain("cannot watch for signals");
    return kInternalError;
  }
  Run run(options);
  if (const absl::Status s = run.Prepare(); !s.ok()) {
    Complain(std::string(s.message()));
    return absl::IsInternal(s) ? kInternalError : kUsageError;
  }
  const int code = run.Execute(signals);
  close(signals);
  return code;
}

}  // namespace fetchbench::native
