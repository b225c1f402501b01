#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/histogram.h"
#include "common/metrics.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"

namespace fetchbench::coordinator {

class RunEngine;

// What a coordinator tells Prometheus, fetchbench_coordinator_...: the runs that this process has
// made, and the one under way. On the control loop; the endpoint's threads see copies only.
class RunMetrics {
 public:
  // How old the figures of a scrape may be.
  static constexpr std::chrono::milliseconds kInterval{1'000};

  // `address`: see MetricsServer::Start, which this is but for the CPUs: its threads keep off the
  // one that a target gets here.
  static absl::StatusOr<std::shared_ptr<RunMetrics>> Start(const std::string& address);

  const std::string& url() const { return server_->url(); }

  // The run as it is now, taken when that is due. `preparing`: the agents before they run.
  void Update(RunEngine& engine, const std::vector<AgentProgress>& preparing, SteadyTime now);
  // Agents, target and web were made ready in this time.
  void SetUp(SteadyTime::duration took) { set_up_ += took; }
  // It is over: its figures join those of the runs before it.
  void Ended(RunEngine& engine, RunEnd end);

 private:
  // What only rises.
  struct Figures {
    OutcomeCounts outcomes{};
    Histogram durations_us;
    uint64_t body_bytes = 0;
    int64_t stalled_us = 0;
    uint64_t reconnects = 0;
    uint64_t urls_taken_back = 0;
    uint64_t urls_lent_again = 0;
    uint64_t duplicates = 0;
  };

  explicit RunMetrics(std::unique_ptr<MetricsServer> server);
  static void Add(RunEngine& engine, Figures& to);
  void AddProgram(MetricsPage& page) const;
  static void AddFigures(const Figures& figures, MetricsPage& page);
  static void AddPresent(RunEngine* engine, const std::vector<AgentProgress>& preparing,
                         MetricsPage& page);
  void Publish(RunEngine* engine, const std::vector<AgentProgress>& preparing);

  std::unique_ptr<MetricsServer> server_;
  SystemClock clock_;
  Figures past_;  // of runs that are over
  std::array<uint64_t, 4> ends_{};
  SteadyTime::duration set_up_{};
  std::optional<SteadyTime> last_;
};

}  // namespace fetchbench::coordinator
