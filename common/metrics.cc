#include "common/metrics.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <tuple>

namespace fetchbench {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// One for the scrape and one for a person who looks; a client that is silent holds one so long.
constexpr const char* kThreads = "2";
constexpr const char* kRequestTimeoutMs = "10000";
constexpr std::chrono::milliseconds kCallInterval{10};

// Upper bounds of the buckets of Seconds(), in microseconds: from a loopback to a patient timeout.
constexpr std::array<int64_t, 16> kBoundsUs{
    1'000,   2'500,     5'000,     10'000,    25'000,     50'000,     100'000,    250'000,
    500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000, 120'000'000};

double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

ClientMetric& AddSample(std::vector<MetricFamily>& families, MetricType type,
                        const std::string& name, const std::string& help,
                        MetricsPage::Labels labels) {
  if (families.empty() || families.back().name != name) {
    families.push_back({name, help, type, {}});
  }
  ClientMetric& sample = families.back().metric.emplace_back();
  for (auto& [label, value] : labels) {
    sample.label.push_back({std::move(label), std::move(value)});
  }
  return sample;
}

absl::Status WrongAddress(const std::string& text) {
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not where metrics can be served: PORT, ADDRESS:PORT or [IPV6]:PORT", text));
}

bool IsAddress(int family, std::string_view host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(family, std::string(host).c_str(), ignored.data()) == 1;
}

// Connects to the server of this URL, and hangs up.
void Call(const std::string& url) {
  constexpr size_t kScheme = std::string_view("http://").size();
  const size_t colon = url.rfind(':');
  std::string host = url.substr(kScheme, colon - kScheme);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const std::string port = url.substr(colon + 1, url.rfind('/') - colon - 1);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* to = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &to) != 0) return;
  const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    std::ignore = connect(fd, to->ai_addr, to->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(to);
}

// Threads that start while it lives take no signals: they are the main thread's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

MetricsPage::MetricsPage() = default;
MetricsPage::MetricsPage(MetricsPage&&) noexcept = default;
MetricsPage& MetricsPage::operator=(MetricsPage&&) noexcept = default;
MetricsPage::~MetricsPage() = default;

void MetricsPage::Counter(const std::string& name, const std::string& help, double value,
                          Labels labels) {
  AddSample(families_, MetricType::Counter, name, help, std::move(labels)).counter.value = value;
}

void MetricsPage::Gauge(const std::string& name, const std::string& help, double value,
                        Labels labels) {
  AddSample(families_, MetricType::Gauge, name, help, std::move(labels)).gauge.value = value;
}

void MetricsPage::Seconds(const std::string& name, const std::string& help,
                          const Histogram& microseconds) {
  ClientMetric::Histogram& histogram =
      AddSample(families_, MetricType::Histogram, name, help, {}).histogram;
  histogram.sample_count = microseconds.count();
  histogram.sample_sum = microseconds.sum() / 1e6;
  for (const int64_t bound : kBoundsUs) {
    histogram.bucket.push_back({microseconds.CountUpTo(bound), fetchbench::Seconds(bound)});
  }
}

absl::StatusOr<std::string> ParseMetricsAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string_view all = text;
  std::string_view host = colon == std::string::npos ? "127.0.0.1" : all.substr(0, colon);
  const std::string_view port = colon == std::string::npos ? all : all.substr(colon + 1);
  uint16_t number = 0;
  const char* end = port.data() + port.size();
  const auto [last, error] = std::from_chars(port.data(), end, number);
  if (port.empty() || last != end || error != std::errc()) return WrongAddress(text);
  if (host == "localhost") host = "127.0.0.1";
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const bool known =
      bracketed ? IsAddress(AF_INET6, host.substr(1, host.size() - 2)) : IsAddress(AF_INET, host);
  if (!known) return WrongAddress(text);
  return fmt::format("{}:{}", host, number);
}

class MetricsServer::Board final : public prometheus::Collectable {
 public:
  void Put(std::vector<MetricFamily> families) {
    const std::lock_guard lock(mutex_);
    families_ = std::move(families);
  }
  std::vector<MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    return families_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<MetricFamily> families_;
};

MetricsServer::MetricsServer() : board_(std::make_shared<Board>()) {}

MetricsServer::~MetricsServer() {
  if (!exposer_) return;
  // Its accepting thread looks every two seconds whether it is to end, or when somebody calls.
  std::atomic<bool> gone = false;
  std::thread end([this, &gone] {
    exposer_.reset();
    gone = true;
  });
  while (!gone) {
    Call(url_);
    std::this_thread::sleep_for(kCallInterval);
  }
  end.join();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address) {
  absl::StatusOr<std::string> where = ParseMetricsAddress(address);
  if (!where.ok()) return where.status();
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  int port = 0;
  try {
    const SignalsBlocked blocked;
    server->exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", *where, "num_threads", kThreads,
                                 "request_timeout_ms", kRequestTimeoutMs});
    server->exposer_->RegisterCollectable(server->board_);
    const std::vector<int> ports = server->exposer_->GetListeningPorts();
    port = ports.empty() ? 0 : ports.front();
  } catch (const std::exception&) {
    // What it says is that there may be a problem with the port.
  }
  if (port == 0) {
    return absl::UnavailableError(fmt::format(
        "cannot serve metrics on {}: in use, not an address of this host, or not permitted",
        *where));
  }
  server->url_ = fmt::format("http://{}:{}/metrics", where->substr(0, where->rfind(':')), port);
  return server;
}

void MetricsServer::Publish(MetricsPage page) { board_->Put(std::move(page.families_)); }

}  // namespace fetchbench
