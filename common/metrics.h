#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/histogram.h"

namespace prometheus {
class Exposer;
struct MetricFamily;
}  // namespace prometheus

namespace fetchbench {

// What a program counts, as it is at one moment, for Prometheus. Names are of its kind: letters,
// digits and '_', counters end in _total, a unit (seconds, bytes) is in the name. Samples of one
// name follow each other. One thread.
class MetricsPage {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  MetricsPage();
  MetricsPage(MetricsPage&&) noexcept;
  MetricsPage& operator=(MetricsPage&&) noexcept;
  ~MetricsPage();

  // Only rises as long as the program runs.
  void Counter(const std::string& name, const std::string& help, double value, Labels labels = {});
  void Gauge(const std::string& name, const std::string& help, double value, Labels labels = {});
  // `microseconds` as a histogram of seconds; its bounds are off by Histogram::kRelativeError.
  void Seconds(const std::string& name, const std::string& help, const Histogram& microseconds);

 private:
  friend class MetricsServer;
  std::vector<prometheus::MetricFamily> families_;
};

// "PORT" (of 127.0.0.1) or "HOST:PORT", with HOST an address, in brackets when it is IPv6, or
// localhost -> "ADDRESS:PORT". InvalidArgument for anything else. No name is looked up. Pure.
absl::StatusOr<std::string> ParseMetricsAddress(const std::string& text);

// http://ADDRESS:PORT/metrics, served by threads of its own. They see nothing but the last page
// that was published, so a scrape neither waits for the program nor holds it up.
class MetricsServer {
 public:
  // `address`: as ParseMetricsAddress takes it; port 0: one that is free. Its threads run on the
  // CPUs of the calling thread and take no signals. Unavailable: it cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // With the port that it got.
  const std::string& url() const { return url_; }

  // What scrapes get from now on. Any thread.
  void Publish(MetricsPage page);

 private:
  class Board;
  MetricsServer();

  std::shared_ptr<Board> board_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // destroyed first: it reads the board
  std::string url_;
};

}  // namespace fetchbench
