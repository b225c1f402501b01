#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/net.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/list_loader.h"
#include "coordinator/run/run_engine.h"
#include "coordinator/run/run_folder.h"
#include "coordinator/run/run_report.h"
#include "coordinator/run/run_setup.h"
#include "coordinator/ui/progress_display.h"
#include "coordinator/ui/rate_meter.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

// `coordinator run`, from the first line to the exit code: sets up the web and the agents, reads
// the list meanwhile, feeds, drains, sums up. On the program's main thread, whose io_context is the
// control loop: children die with the thread that started them.
class RunController {
 public:
  // All outlive the controller. `error` is where the live display goes (standard error).
  RunController(net::io_context& loop, const RunOptions& options, const Clock& clock,
                ProgressDisplay& display, TextStyle stdout_style);

  // Never throws; what goes wrong is said on standard error.
  Task<ExitCode> Run();

 private:
  // One step each; an error ends the run.
  absl::Status CreateFolder();
  absl::StatusOr<int> OpenList();
  absl::Status StartLoading(int fd);
  Task<absl::Status> SetUp();
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
  void StopChildren(bool hurry);
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
  Placement placement_;
  RunIdentity identity_;
  std::optional<RunFolder> folder_;
  std::optional<SimulatedWeb> web_;
  std::string origin_trouble_;  // why it gave no figures at the end
  std::optional<LocalAgent> local_agent_;
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
  bool feeding_ = false;
  bool interrupted_ = false;
  bool over_ = false;
  RateMeter record_rate_;
  RateMeter byte_rate_;
};

}  // namespace fetchbench::coordinator
