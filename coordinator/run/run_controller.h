#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/net.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/list_loader.h"
#include "coordinator/run/prepare_target.h"
#include "coordinator/run/run_engine.h"
#include "coordinator/run/run_folder.h"
#include "coordinator/run/run_once.h"
#include "coordinator/run/run_report.h"
#include "coordinator/run/run_setup.h"
#include "coordinator/ui/progress_display.h"
#include "coordinator/ui/rate_meter.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

// One run, from the first line to its result: sets up the web and the agents, reads the list
// meanwhile, feeds, drains, sums up. See RunOnce. On the program's main thread, whose io_context is
// the control loop: children die with the thread that started them.
class RunController {
 public:
  // All outlive the controller. `error` is where the live display goes (standard error).
  RunController(net::io_context& loop, const RunOptions& options, const Clock& clock,
                ProgressDisplay& display, TextStyle stdout_style, RunPresentation presentation);

  // Never throws; what goes wrong is said on standard error.
  Task<> Run();
  // Once, after Run.
  RunResult TakeResult() { return std::move(result_); }

 private:
  // One step each; an error ends the run.
  absl::Status CreateFolder();
  absl::StatusOr<int> OpenList();
  absl::Status StartLoading(int fd);
  Task<absl::Status> SetUp();
  Task<absl::Status> StartAgents(std::vector<std::string>& addresses,
                                 std::vector<std::string>& names);
  Task<absl::Status> StartWeb();
  // `reached`: the agents that have said something, good or bad.
  Task<absl::Status> PrepareTarget(std::vector<std::string> addresses,
                                   std::vector<std::string> names, std::vector<bool>& reached);
  Task<absl::Status> ConnectAgents(std::vector<std::string> addresses,
                                   std::vector<std::string> names, std::vector<bool> reached);
  void ShowPrepare(size_t agent, const v1::PrepareProgress& progress);
  Task<absl::Status> AwaitList();
  Task<absl::Status> BeginOnOrigin();
  Task<ExitCode> RunSteps();

  Task<> Load(int fd);
  Task<> WatchSignals();
  Task<> WatchDuration();
  Task<> ShowProgress();
  void Interrupt();
  ProgressSnapshot Snapshot();
  std::string Phase() const;

  Task<ExitCode> WrapUp(EngineEnd end);
  Task<std::optional<OriginSummary>> AskOrigin(bool hurry);
  Task<> StopChildren(bool hurry);
  Summary Summarise(const EngineEnd& end, std::optional<OriginSummary> origin) const;
  ExitCode ExitCodeOf(const EngineEnd& end, const Summary& summary) const;
  absl::Status Print(const Summary& summary) const;
  Task<ExitCode> GiveUp(absl::Status error);
  ExitCode Report(const absl::Status& error);

  net::io_context& loop_;
  const RunOptions& options_;
  const Clock& clock_;
  ProgressDisplay& display_;
  TextStyle stdout_style_;
  RunPresentation presentation_;
  RunResult result_;
  Placement placement_;
  RunIdentity identity_;
  std::optional<RunFolder> folder_;
  std::optional<SimulatedWeb> web_;
  std::string origin_trouble_;  // why it gave no figures at the end
  std::optional<LocalAgent> local_agent_;
  v1::TargetSpec target_;                 // as agents were asked to prepare it
  std::vector<AgentProgress> preparing_;  // rows of the display before the agents run
  std::optional<v1::TargetFacts> facts_;  // of the first agent that was ready
  std::shared_ptr<RunEngine> engine_;
  std::unique_ptr<UrlSpool> spool_;
  LoadedList list_;
  std::optional<absl::Status> load_status_;  // empty: still reading
  Wakeup loaded_;
  std::atomic<bool> stop_loading_{false};
  net::signal_set signals_;
  net::steady_timer duration_timer_;
  net::steady_timer progress_timer_;
  SteadyTime began_;
  int64_t cpu_before_us_ = 0;  // what this process had used when the run began
  bool feeding_ = false;
  bool interrupted_ = false;
  bool over_ = false;
  RateMeter record_rate_;
  RateMeter byte_rate_;
};

}  // namespace fetchbench::coordinator
